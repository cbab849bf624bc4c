"""Numbers of things in words."""


def number_of(count: int, noun: str) -> str:
    """`1 score`, `2 scores`.

    Args:
        noun: in the singular; its plural ends with one more `s`.
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
