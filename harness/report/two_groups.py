"""Runs of an arm that fall into two groups, in words."""

from collections.abc import Iterable, Iterator

from harness.analysis.comparison.differences import AVERAGE, Differences
from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.seed_limits import SHOWN_SEEDS, unseen_share
from harness.analysis.statistics.two_groups import TwoGroups

MEANING = (
    "An arm may show one of the groups by chance, so intervals, p and ranks in these columns take "
    "every arm to vary at least as much between seeds as all arms do on average."
)


def reason(found: Difference, unit: str) -> str:
    """What a difference's two groups of runs are, to follow another text; empty if it has none."""
    if not found.split:
        return ""
    arms = " and ".join(f"{_subject(one)} ({_groups(one, unit)})" for one in found.split.groups)
    return f"; runs of {arms} fall into two groups"


def unseen(found: Difference) -> str:
    """The share of runs that may fail without being seen, to follow another text; empty if it is
    small."""
    if not 0 < found.num_seeds < SHOWN_SEEDS:
        return ""
    share = 100 * unseen_share(found.num_seeds)
    return f"; with {found.num_seeds} seeds, up to {share:.0f} % of an arm's runs may fail unseen"


def split_runs(differences: Iterable[Differences]) -> Iterator[str]:
    """A sentence on the columns in which runs of an arm fall into two groups.

    Args:
        differences: those of pairs that have all arms.
    """
    found: dict[str, dict[str, TwoGroups]] = {}
    for pair in differences:
        for column, one in pair.items():
            if one and one.split and (column != AVERAGE or len(pair) != 2):
                found.setdefault(column, {}).update({_subject(g): g for g in one.split.groups})
    if found:
        runs = [
            f"{name} in {column if column != AVERAGE else 'the average'} ({_groups(one, 'points')})"
            for column, of_arms in found.items()
            for name, one in of_arms.items()
        ]
        yield f"Runs that fall into two groups: {', '.join(runs)}. {MEANING}"


def _subject(one: TwoGroups) -> str:
    """`a`, or of arms with the same checkpoints `a minus b`, `a minus the mean of 5 arms`."""
    if not one.beside:
        return one.arm
    if len(one.beside) == 2:
        return " minus ".join(one.beside)
    return f"{one.arm} minus the mean of {len(one.beside)} arms with the same seeds"


def _groups(one: TwoGroups, unit: str) -> str:
    """`1 of 3 is 34.5 points from the others`"""
    form = ".1f" if unit == "points" else ",.0f" if one.distance >= 100 else ".3f"
    distance = format(one.distance, form)
    are = "is" if one.few == 1 else "are"
    return f"{one.few} of {one.runs} {are} {distance} {unit} from the others"
