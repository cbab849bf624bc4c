"""The `harness` command with its subcommands."""

import sys
import traceback
from importlib.metadata import version
from typing import Annotated

import typer

from harness.cli import (
    adopt,
    archive,
    claims,
    compare,
    data,
    disagreements,
    doctor,
    evaluate,
    export,
    findings,
    gc,
    init,
    leaderboard,
    options,
    plan,
    profile,
    registries,
    report,
    restore,
    results,
    run,
    schema,
    site,
    status,
    store,
    submit,
    ui,
    verify,
    work,
)
from harness.core.secrets import mask

app = typer.Typer(
    help="Which way of pretraining a language model is better, by how much, and how sure are we?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pretraining-harness {version('pretraining-harness')}")
        raise typer.Exit


@app.callback()
def _options(
    show: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="show the version"),
    ] = False,
) -> None:
    pass


app.command()(init.init)
app.command()(plan.plan)
app.command()(run.run)
app.command()(work.work)
app.command()(adopt.adopt)
app.command()(status.status)
app.command()(leaderboard.leaderboard)
app.command()(compare.compare)
app.command()(report.report)
app.command()(disagreements.disagreements)
app.command()(evaluate.evaluate)
app.command()(profile.profile)
app.command()(export.export)
app.add_typer(results.app, name="results")
app.command()(archive.archive)
app.command()(restore.restore)
app.command()(submit.submit)
app.command()(site.site)
app.command()(findings.findings)
app.command()(claims.claims)
app.add_typer(data.app, name="data")
app.command(name="list")(registries.list_members)
app.command()(registries.show)
app.command()(schema.schema)
app.command()(ui.ui)
app.command()(doctor.doctor)
app.command()(store.store)
app.command()(verify.verify)
app.command()(gc.gc)


def main() -> None:
    """Runs the `harness` command, the entry point of the package."""
    try:
        app()
    except Exception:  # an error of the harness itself: its traceback, without secrets
        options.err.print(mask(traceback.format_exc()), end="")
        sys.exit(options.FAILED)
