"""Covering subsets of matrices of cases, such as every model family under every method."""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case", bound=tuple[Hashable, ...])


def covering(cases: Sequence[Case], each: int, always: Collection[Case] = ()) -> list[Case]:
    """The cases of `always`, and more until each value of each axis occurs `each` times.

    Greedy and deterministic: next is the case with the most values that still occur too rarely,
    of these the one whose values occur least, and of equal ones the first. A value in fewer than
    `each` cases keeps all of them.

    Args:
        cases: Tuples of equal length, one value for each axis; all differ.
        each: Least number of occurrences of a value, such as a family or a method.
        always: Cases that are part of every subset, such as those with code of their own.

    Returns:
        The subset in the order of `cases`.

    Raises:
        ValueError: A case of `always` is none of `cases`.
    """
    if unknown := set(always) - set(cases):
        raise ValueError(f"always has {sorted(map(str, unknown))}, which is none of the cases")
    left = [case for case in cases if case not in always]
    seen = Counter(value for case in always for value in enumerate(case))
    while left:
        lacking = {case: sum(seen[one] < each for one in enumerate(case)) for case in left}
        best = min(
            left, key=lambda case: (-lacking[case], sum(seen[one] for one in enumerate(case)))
        )
        if not lacking[best]:
            break
        left.remove(best)
        seen.update(enumerate(best))
    return [case for case in cases if case not in left]


def thinned(cases: Sequence[Case], each: int, always: Collection[Case] = ()) -> list[Any]:
    """Cases for `pytest.mark.parametrize`: those of `covering`, and the others as a campaign."""
    kept = set(covering(cases, each, always))
    return [_marked(*case, by_default=case in kept) for case in cases]


def representatives(features: Mapping[str, Case], each: int) -> list[Any]:
    """Names for `pytest.mark.parametrize`, such as those of objectives: so many that each value of
    each feature occurs `each` times, or once in each combination; the others as a campaign.

    Args:
        features: Name to the values of its features; of equal ones, the first name stands for all.
        each: As in `covering`.
    """
    named = {values: name for name, values in reversed(list(features.items()))}
    kept = {named[values] for values in covering([*named], each)}
    return [_marked(name, by_default=name in kept) for name in features]


def _marked(*values: Any, by_default: bool) -> Any:
    return pytest.param(*values, marks=[] if by_default else [pytest.mark.campaign])
