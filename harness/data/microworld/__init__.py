"""The embedded world: an English-like language with facts, a corpus that tells them, and tasks.

A world is made from a number. `documents` tells of it, and `examples` asks about it: the train sets
of the tasks use some of its words, their dev sets the others, so that only a model that has read
the corpus can know them.
"""

VERSION = "1"
"""Changes whenever the same seeds give other documents, or examples of the tasks it began with."""
VERSIONS: dict[str, str] = {}
"""Task to its own version, raised whenever it has other examples; VERSION where it has none."""


def version(generator: str) -> str:
    """What changes whenever a task of the world has other examples."""
    return VERSIONS.get(generator, VERSION)
