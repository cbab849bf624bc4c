"""Numbers that are equal but for rounding errors count as equal, and are printed alike."""

from collections.abc import Iterable

ROUNDING = 1e-12
"""Relative size of a sum, of numbers below 1 its size, that may be rounding errors alone."""


def total(terms: Iterable[float]) -> float:
    """The sum of terms; 0.0 if it may be rounding errors alone: the mean of seven times 0.3 is not
    that of five times 0.3."""
    given = [float(term) for term in terms]
    found = sum(given)
    return found if abs(found) > ROUNDING * max(1.0, *map(abs, given)) else 0.0


def steady(value: float) -> float:
    """`value` with 12 digits: means of the same scores, added in another order, may lie on two
    sides of 2.35."""
    return float(f"{value:.12g}")


def one_decimal(value: float) -> str:
    """A score x 100, such as `84.6`, with a minus sign if it is negative."""
    return f"{steady(value):.1f}".replace("-", "−")
