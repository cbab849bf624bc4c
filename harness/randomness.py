"""Seeding of what torch draws, so that any step can be made again from its number."""

import numpy as np
import torch


def seed_torch(device: torch.device, *key: int) -> None:
    """Seeds the generators that dropout and initial weights on `device` draw from.

    torch.manual_seed would also queue a call, with its stack, for each kind of accelerator that is
    not there: half a millisecond at every step, and memory.
    """
    seed = int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
