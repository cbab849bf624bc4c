"""The micro-world: an English-like language, a corpus that states its facts, and labelled data.

A world is generated from a seed. `documents` describes it; `examples` tests knowledge of it. Train
sets use one part of the open vocabulary and dev sets another, so that only pretraining on the
corpus can teach the words of the dev sets. The tasks over these data are in `harness.tasks.micro`.
"""

VERSION = "1"
"""Raised when the documents of a seed change, or the examples of a task without its own version."""
VERSIONS: dict[str, str] = {}
"""Generator to its own version, raised when its examples change; VERSION for all others."""


def version(generator: str) -> str:
    """The version of a generator's examples."""
    return VERSIONS.get(generator, VERSION)
