"""Whether a chosen value lies on the edge of what was tried, beyond which may be better ones."""

from harness.finetuning.search.space import Choice, Choices, Range, ends

OUTER = 0.1
"""Share of a range that is its edge, at either end."""


def at_edge(tried: Range | Choices, value: Choice) -> bool:
    """Whether a value is the least or largest of three choices or more, or in the outer tenth of a
    range. Zero is no edge, as no setting has smaller values."""
    if isinstance(tried, Range):
        place = tried.position(float(value))
        return place > 1 - OUTER or (place < OUTER and tried.low != 0)
    return has_edge(tried) and value != 0 and value in (min(ends(tried)), max(ends(tried)))


def has_edge(tried: Range | Choices) -> bool:
    """Whether a value can lie within: of two choices, both are the edge; words have no order."""
    return isinstance(tried, Range) or (len(tried) > 2 and all(map(_is_number, tried)))


def _is_number(choice: Choice) -> bool:
    return isinstance(choice, int | float) and not isinstance(choice, bool)
