"""The seed of the batches of runs that start from the networks of others."""

import hashlib

from harness.pretraining.recipes.pretrain import Pretrain

BATCH_SEED = "batch_seed"
"""Field of the specification of such a run; other runs draw their batches with the run's seed."""


def batch_seed(run: Pretrain, seed: int) -> dict[str, int]:
    """The field BATCH_SEED, from which batches and dropout follow; empty for other runs.

    With the seed of its start, a run on the same text would read the batches of its start again, in
    their order, and less text in all than a run of as many tokens without a start.
    """
    starts = 0
    while run.init_from and not run.starts_from_vectors:
        run, starts = run.init_from, starts + 1
    return _field(f"{seed} {starts}") if starts else {}


def continued_batch_seed(seed: int, reads: int) -> dict[str, int]:
    """As `batch_seed` for continued pretraining.

    Args:
        reads: earlier runs of the arm on the same text.
    """
    return _field(f"{seed} continued {reads}") if reads else {}


def _field(content: str) -> dict[str, int]:
    return {BATCH_SEED: int.from_bytes(hashlib.sha256(content.encode()).digest()[:4])}
