"""`harness claims`: the shipped experiments that test claims of the literature."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.core.counting import number_of

if TYPE_CHECKING:
    from harness.execution.outlook import Outlook
    from harness.study import Study

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
"""Unit of a duration to its seconds."""


@dataclass(frozen=True)
class Priced:
    """An experiment and what it would take."""

    file: Path
    ids: Sequence[str]
    """The claims that it tests."""
    study: "Study | None"
    """Null if it cannot be planned here."""
    outlook: "Outlook | None" = None
    reason: str = ""
    """Why it cannot be planned."""

    @property
    def row(self) -> tuple[str, str, str]:
        """Name, claims, and the time that it takes or the reason why it cannot run."""
        from harness.execution.time_left import duration

        if not self.outlook:
            return self.file.stem, " ".join(self.ids), self.reason
        time = f"about {duration(self.seconds)}" if self.outlook.todo else "done"
        return self.file.stem, " ".join(self.ids), time

    @property
    def seconds(self) -> float:
        """Expected; nothing if all stages are finished."""
        return self.seconds_after(())

    def seconds_after(self, others: Iterable["Priced"]) -> float:
        """Expected if `others` are finished, with which it may share stages."""
        from harness.execution.estimate import estimate

        if not self.outlook:
            return 0.0
        finished = {stage.key for one in others if one.outlook for stage in one.outlook.todo}
        todo = [stage for stage in self.outlook.todo if stage.key not in finished]
        of = self.outlook
        return estimate(todo, of.learned, of.estimate.jobs).seconds if todo else 0.0


def claims(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="claims as in the findings, such as E17 [default: all]"),
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="compute the experiments")] = False,
    once: Annotated[
        bool, typer.Option("--once", help="only experiments that together test each claim once")
    ] = False,
    budget: Annotated[
        str | None, typer.Option(help="time for --run, such as 90m or 2h [default: no limit]")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="file of the board that --run writes")] = Path(
        "findings.md"
    ),
    jobs: options.Jobs = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Lists experiments that test claims of the literature. Beside each stands how long it takes on
    this machine. With --run, computes them within the budget, first those that together test each
    claim once, then the others, the shortest first, and writes the board of findings. Run again to
    resume."""
    with options.clear_errors():
        seconds = _seconds(budget) if budget else float("inf")
        options.require(run or not budget, "--budget has an effect with --run only")
        found = [_priced(*of, store, jobs) for of in _tests_of(ids or []).items()]
        if run:
            options.make_folder_of(out, "--out")
    first = each_claim_once(found)
    every = first + _others(found, first)
    chosen = first if once else every
    cannot = [one for one in found if not one.study]
    options.print_table(["experiment", "claims", "time"], [one.row for one in chosen + cannot])
    options.out.print(f"each claim once: {_sum(first)}; all: {_sum(every)}")
    if not run:
        return
    failed = [one.file.stem for one in _within(chosen, seconds) if not _compute(one, jobs)]
    try:
        _write_board(store / "reports", out)
    except typer.Exit:  # without any report
        if not failed:
            raise
    if failed:
        options.err.print(f"experiments with failed stages: {', '.join(failed)}", style="red")
        raise typer.Exit(options.FAILED)


def _seconds(text: str) -> float:
    """The seconds of a duration such as 90m, 2h or 1.5h.

    Raises:
        ValueError: it is none.
    """
    match = re.fullmatch(rf"([0-9]+(?:\.[0-9]+)?)([{''.join(UNITS)}])", text.strip())
    options.require(
        match is not None, f"--budget must be a time such as 90m or 2h, but is {text!r}"
    )
    assert match
    return float(match[1]) * UNITS[match[2]]


def _tests_of(ids: Sequence[str]) -> dict[Path, list[str]]:
    """Experiment file to those of the claims that it tests; of all claims without ids.

    Raises:
        ValueError: an unknown claim, or one that no shipped experiment tests.
    """
    from harness.core.config import unknown_name
    from harness.core.shipped import shipped_experiments
    from harness.experiment.claims import CLAIMS

    for name in ids:
        if name not in CLAIMS:
            raise ValueError(unknown_name("the claim", name, CLAIMS))
    found = {}
    for file in shipped_experiments().values():
        if own := [name for name in _declared(file) if name in ids or not ids]:
            found[file] = own
    untested = set(ids).difference(*found.values()) if found else set(ids)
    options.require(not untested, f"no shipped experiment tests {', '.join(sorted(untested))}")
    return found


def _declared(file: Path) -> Mapping[str, object]:
    from harness.experiment.experiment_file import read_text
    from harness.experiment.source import Source

    claims: Mapping[str, object] = Source.parse(file, read_text(file)).data.get("claims") or {}
    return claims


def _priced(file: Path, ids: Sequence[str], store: Path, jobs: int | None) -> Priced:
    from harness.experiment.source import DeclarationError

    try:
        study = options.load_study(file, None, None, store)
        return Priced(file, ids, study, study.outlook(jobs))
    except DeclarationError as error:
        return Priced(file, ids, None, reason=error.problems[0])


def each_claim_once(found: Iterable[Priced]) -> list[Priced]:
    """Experiments that together test each claim: next is always the one with the most claims that
    none before it tests for its time (greedy set cover; Chvatal 1979)."""
    seconds = {one.file: one.seconds for one in found if one.study}
    left = [one for one in found if one.study]
    tested: set[str] = set()
    chosen = []
    while left := [one for one in left if not tested.issuperset(one.ids)]:
        best = max(left, key=lambda one: len({*one.ids} - tested) / max(1, seconds[one.file]))
        tested.update(best.ids)
        chosen.append(best)
    return chosen


def _others(found: Iterable[Priced], first: Sequence[Priced]) -> list[Priced]:
    """The experiments that can run beside `first`, the shortest first."""
    others = [one for one in found if one.study and one not in first]
    return sorted(others, key=lambda one: one.seconds)


def _within(found: Iterable[Priced], seconds: float) -> Iterator[Priced]:
    """Of experiments in this order, those whose times fit together."""
    fitting: list[Priced] = []
    spent = 0.0
    for one in found:
        more = one.seconds_after(fitting)
        if spent + more <= seconds:
            spent += more
            fitting.append(one)
            yield one
        else:
            options.err.print(f"{one.file.stem}: not within the budget")


def _sum(found: Sequence[Priced]) -> str:
    """The number of experiments, and the time that they take together."""
    from harness.execution.time_left import duration

    seconds = sum(one.seconds_after(found[:place]) for place, one in enumerate(found))
    return f"{number_of(len(found), 'experiment')}, about {duration(seconds)}"


def _compute(one: Priced, jobs: int | None) -> bool:
    """Runs an experiment; whether no stage failed, which does not stop the next experiment."""
    from harness.cli.run import compute

    assert one.study
    try:
        compute(one.study, jobs, "processes")
    except typer.Exit as stop:
        if stop.exit_code != options.FAILED:
            raise
        return False
    return True


def _write_board(reports: Path, out: Path) -> None:
    from harness.cli.findings import findings

    findings(reports, out)
