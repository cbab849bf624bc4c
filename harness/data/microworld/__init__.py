"""The micro-world: an English-like language, a corpus that states its facts, and labelled data.

A world is generated from a seed. `documents` describes it; `examples` tests knowledge of it. Train
sets use one part of the open vocabulary and dev sets another, so that only pretraining on the
corpus can teach the words of the dev sets. The tasks over these data are in `harness.tasks.micro`.
"""

VERSION = "1"
"""Changes whenever the same seeds give other documents, or examples of the tasks it began with."""
VERSIONS: dict[str, str] = {}
"""Task to its own version, raised whenever it has other examples; VERSION where it has none."""


def version(generator: str) -> str:
    """What changes whenever a task of the world has other examples."""
    return VERSIONS.get(generator, VERSION)
