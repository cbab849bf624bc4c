"""Sizes, parameters and products of character convolutions.

Shapes: C characters of a token, E embedding size.
"""

CHARACTER_SIZE = 16
"""Width of the embeddings of characters (Peters et al. 2018; allenai/bilm-tf, README.md)."""
FILTERS = {1: 1 / 16, 2: 1 / 16, 3: 1 / 8, 4: 1 / 4, 5: 1 / 2, 6: 1, 7: 2}
"""Width of a filter to the number of such filters as a share of E: 32, 32, 64, 128, 256, 512 and
1,024 at ELMo's 512 (Peters et al. 2018, section 3.4: 2,048 filters; allenai/bilm-tf, README.md)."""
NUM_HIGHWAYS = 2
"""Highway layers (Peters et al. 2018, section 3.4)."""
NUM_CHARACTERS = 259
"""The bytes of UTF-8, with marks of padding and of both ends of a token."""


def num_filters(embedding_size: int) -> dict[int, int]:
    """Width of a filter to the number of such filters."""
    return {width: max(1, round(share * embedding_size)) for width, share in FILTERS.items()}


def num_parameters(embedding_size: int) -> int:
    """Of the embeddings of characters, the filters, the highway layers and the projection."""
    filters = num_filters(embedding_size)
    size = sum(filters.values())
    convolutions = sum(number * (width * CHARACTER_SIZE + 1) for width, number in filters.items())
    highways = NUM_HIGHWAYS * 2 * (size + 1) * size
    return NUM_CHARACTERS * CHARACTER_SIZE + convolutions + highways + (size + 1) * embedding_size


def multiply_adds(embedding_size: int, length: int) -> int:
    """Multiplications and additions for one token.

    Args:
        length: C.
    """
    filters = num_filters(embedding_size)
    size = sum(filters.values())
    convolutions = sum(
        number * width * CHARACTER_SIZE * (length - width + 1) for width, number in filters.items()
    )
    return convolutions + NUM_HIGHWAYS * 2 * size**2 + size * embedding_size
