"""`harness compare`: two arms, of one experiment or of two."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options

if TYPE_CHECKING:
    from harness.study import Study


def _arms(context: typer.Context) -> list[str]:
    """The arms of the experiment typed so far, for shell completion."""
    from harness.experiment.declaration import load

    try:
        return [arm.name for arm in load(Path(str(context.params.get("experiment")))).arms]
    except (ValueError, OSError):
        return []


def compare(
    experiment: Annotated[
        Path, typer.Argument(metavar="EXPERIMENT", help="experiment file, or EXPERIMENT:ARM")
    ],
    first: Annotated[
        str, typer.Argument(metavar="A", help="arm, or EXPERIMENT:ARM", autocompletion=_arms)
    ],
    second: Annotated[
        str | None, typer.Argument(metavar="B", help="arm", autocompletion=_arms)
    ] = None,
    format: options.TableFormat = options.Format.md,
    average: options.Average = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Compares two arms: EXPERIMENT A B, or across experiments EXPERIMENT:A EXPERIMENT:B.

    Prints the difference of the average and of each column with 95 % interval and p, the examples
    that only one arm answers right, and the fields in which the arms differ.
    """
    with options.clear_errors():
        if second is None:
            found = _across(str(experiment), first, store, set_, variant)
        else:
            study = options.load_study(experiment, set_, variant, store)
            found = (study, first, study, second)
        one, arm, other, beside = found
        text = one.compare(arm, beside, other, average).render(format.value)
    print(text.rstrip("\n"))


def _across(
    first: str,
    second: str,
    store: Path,
    set_: Sequence[str] | None,
    variant: Sequence[str] | None,
) -> "tuple[Study, str, Study, str]":
    options.require(
        not set_ and not variant, "--set and --variant need one experiment and two arms, A B"
    )
    (path, arm), (beside, other) = map(_parts, (first, second))
    study = options.load_study(path, None, None, store)
    same = path == beside
    return study, arm, study if same else options.load_study(beside, None, None, store), other


def _parts(text: str) -> tuple[Path, str]:
    """Experiment and arm of `EXPERIMENT:ARM`."""
    experiment, _, arm = text.partition(":")
    needed = f"give an experiment and two arms, or EXPERIMENT:ARM twice, but {text!r} has no ':ARM'"
    options.require(bool(arm), needed)
    return Path(experiment), arm
