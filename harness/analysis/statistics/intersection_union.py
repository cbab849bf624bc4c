"""The intersection-union test: whether several differences all lie on their expected side.

It rejects that one of them does not where each of their tests rejects it at the full level, so that
its p is the largest one (Berger 1982, "Multiparameter hypothesis testing and acceptance sampling",
Technometrics 24, theorem 1). That one lies on the other side is tested by each, so that with two
differences and two-sided tests at 5 % a wrong verdict of either kind has at most 5 %.
"""

from collections.abc import Sequence

from harness.analysis.statistics.bootstrap import Difference


def decisive(found: Sequence[Difference], above: bool) -> int:
    """The place of the difference that decides: of those that do not lie on the expected side of
    zero the one with the smallest p, or if all do, the one with the largest.

    Args:
        above: whether all are expected above zero, else below.

    Raises:
        ValueError: no differences.
    """
    if not found:
        raise ValueError("there must be at least one difference")
    expected = [one.estimate > 0 if above else one.estimate < 0 for one in found]
    if all(expected):
        return max(range(len(found)), key=lambda place: found[place].p_value)
    others = [place for place, holds in enumerate(expected) if not holds]
    return min(others, key=lambda place: found[place].p_value)
