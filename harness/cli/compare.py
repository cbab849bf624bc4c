"""`harness compare`: two arms, of one experiment or of two."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion, options

if TYPE_CHECKING:
    from harness.report.two_arms.arm_comparison import ArmComparison
    from harness.report.two_arms.arm_order import ArmOrder
    from harness.report.two_arms.measured import MeasuredArm
    from harness.study import Study


def compare(
    experiment: Annotated[
        Path,
        typer.Argument(
            metavar="EXPERIMENT",
            help="experiment file, or EXPERIMENT:ARM",
            autocompletion=completion.experiments,
        ),
    ],
    first: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="arm, EXPERIMENT:ARM, or another experiment",
            autocompletion=completion.arms,
        ),
    ],
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="B", help="arm, or EXPERIMENT@VARIANT:ARM", autocompletion=completion.arms
        ),
    ] = None,
    format: options.TableFormat = options.Format.md,
    average: options.Average = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Compares two arms, or all arms of two experiments. EXPERIMENT A B are arms of one experiment,
    EXPERIMENT:A EXPERIMENT:B of two; with variants EXPERIMENT@VARIANT:A. Of two EXPERIMENTs without
    arms, prints how many pairs of the arms that both have are ordered alike. Results in the store
    without an experiment file, of 'harness evaluate' or imported, are named as NAME:ARM, or NAME if
    there is one arm.

    Prints the difference of the average and of each column with 95 % interval and p, the examples
    that only one arm answers right, and the fields in which the arms differ. --set applies to
    both sides.
    """
    with options.clear_errors():
        if second is None:
            alone = "--variant needs one experiment and two arms, A B; else EXPERIMENT@VARIANT:ARM"
            options.require(not variant, alone)
            found = _without_arm(str(experiment), first, store, set_, average)
        else:
            study = options.load_study(experiment, set_, variant, store)
            one, arm = _side(first, study, set_, store)
            other, beside = _side(second, study, set_, store)
            found = one.compare(arm, beside, other, average)
        text = found.render(format.value)
    print(text.rstrip("\n"))


def _without_arm(
    first: str, second: str, store: Path, set_: Sequence[str] | None, average: str | None
) -> "ArmComparison | ArmOrder":
    """Of `EXPERIMENT:ARM` twice, or of two experiments."""
    if not all(_is_of_file(text) and ":" not in text for text in (first, second)):
        return _across(first, second, store, set_, average)
    from harness.report.two_arms.arm_order import compare_order

    options.require(average is None, "--average is for two arms; leave it out")
    return compare_order(*(_study(text, set_, store).results for text in (first, second)))


def _across(
    first: str, second: str, store: Path, set_: Sequence[str] | None, average: str | None
) -> "ArmComparison":
    if recorded := [text for text in (first, second) if not _is_of_file(text)]:
        from harness.report.two_arms.compare_measured import compare_measured
        from harness.report.two_arms.measured import is_measured
        from harness.store.store import Store

        for text in (text for text in recorded if not is_measured(Store(store), text)):
            _require_no_misspelt_file(_parts(text)[0])
        one, other = (_measured(text, set_, store) for text in (first, second))
        return compare_measured(one, other, average)
    (named, arm), (beside, of) = map(_parts, (first, second))
    study = _study(named, set_, store)
    return study.compare(
        arm, of, study if named == beside else _study(beside, set_, store), average
    )


def _require_no_misspelt_file(experiment: str) -> None:
    from harness.core.config import near_name
    from harness.core.shipped import shipped_experiments

    near = near_name(experiment, shipped_experiments()).strip()
    options.require(not near, f"the experiment {experiment!r} is not known; {near}")


def _is_of_file(text: str) -> bool:
    """Whether a text begins with an experiment file or a shipped experiment."""
    return options.is_experiment(text.partition(":")[0].partition("@")[0])


def _measured(text: str, set_: Sequence[str] | None, store: Path) -> "MeasuredArm":
    from harness.report.two_arms.measured import measured_arm, of_results
    from harness.store.store import Store

    if not _is_of_file(text):
        return measured_arm(Store(store), text)
    named, arm = _parts(text)
    return of_results(_study(named, set_, store).results, arm)


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
