"""Numbers as they are printed: equal ones alike, in every output."""


def steady(value: float) -> float:
    """`value` with 12 digits: means of the same scores, added in another order, may lie on two
    sides of 2.35."""
    return float(f"{value:.12g}")


def one_decimal(value: float) -> str:
    """A score x 100, such as `84.6`."""
    return f"{steady(value):.1f}"
