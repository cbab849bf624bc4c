"""Pretraining of every paradigm: a Lightning module, checkpoint and resume.

Everything random is a function of (seed, step), so a run that is cut short goes on from its last
checkpoint, on a CPU bit for bit; a GPU's own kernels may add up in another order.
"""

from harness.pretraining.losses import held_out
from harness.pretraining.module import Pretraining
from harness.pretraining.running import (
    default_micro_batch_tokens,
    fit,
    make_feed,
    make_module,
    pretrain,
)

__all__ = [
    "Pretraining",
    "default_micro_batch_tokens",
    "fit",
    "held_out",
    "make_feed",
    "make_module",
    "pretrain",
]
