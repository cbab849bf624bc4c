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
        str | None,
        typer.Argument(metavar="B", help="arm, or EXPERIMENT@VARIANT:ARM", autocompletion=_arms),
    ] = None,
    format: options.TableFormat = options.Format.md,
    average: options.Average = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Compares two arms: EXPERIMENT A B, or across experiments EXPERIMENT:A EXPERIMENT:B; with
    variants EXPERIMENT@VARIANT:A.

    Prints the difference of the average and of each column with 95 % interval and p, the examples
    that only one arm answers right, and the fields in which the arms differ. --set applies to
    both sides.
    """
    with options.clear_errors():
        if second is None:
            found = _across(str(experiment), first, store, set_, variant)
        else:
            study = options.load_study(experiment, set_, variant, store)
            found = (*_side(first, study, set_, store), *_side(second, study, set_, store))
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
        not variant, "--variant needs one experiment and two arms, A B; else EXPERIMENT@VARIANT:ARM"
    )
    (named, arm), (beside, other) = map(_parts, (first, second))
    study = _study(named, set_, store)
    return study, arm, study if named == beside else _study(beside, set_, store), other


def _side(
    text: str, study: "Study", set_: Sequence[str] | None, store: Path
) -> "tuple[Study, str]":
    """The study and the arm that `ARM` or `EXPERIMENT@VARIANT:ARM` names."""
    named, _, arm = text.partition(":")
    if arm and options.is_experiment(named.partition("@")[0]):
        return _study(named, set_, store), arm
    return study, text


def _study(named: str, set_: Sequence[str] | None, store: Path) -> "Study":
    """The study of `EXPERIMENT` or `EXPERIMENT@VARIANT`, with one or several variants, and with the
    overrides."""
    experiment, *variants = named.split("@")
    return options.load_study(Path(experiment), list(set_ or ()), variants, store)


def _parts(text: str) -> tuple[str, str]:
    """Experiment and arm of `EXPERIMENT:ARM`."""
    experiment, _, arm = text.partition(":")
    needed = f"give an experiment and two arms, or EXPERIMENT:ARM twice, but {text!r} has no ':ARM'"
    options.require(bool(arm), needed)
    return experiment, arm
