"""Changes of the learning rate between the epochs of fine-tuning."""

import math

from torch.optim import Optimizer

from harness.finetuning.protocol import Finetune


class EpochRates:
    """The factor of the learning rate in an epoch, on top of the schedule (Conneau et al. 2017,
    section 3.3): `epoch_decay` for each epoch before it, and `holdout_decay` for each after which
    the score on the hold-out was not above the best one before (facebookresearch/InferSent,
    train_nli.py, `evaluate`)."""

    def __init__(self, settings: Finetune, per_epoch: int) -> None:
        """`per_epoch` is the number of updates in an epoch."""
        self.settings, self.per_epoch = settings, per_epoch
        self.best, self.falls = -math.inf, 0
        """The best score, and the number of epochs without a better one."""

    def factor(self, step: int) -> float:
        """Of the learning rate at update `step`, counted from 0."""
        decay, fall = self.settings.epoch_decay or 1.0, self.settings.holdout_decay or 1.0
        return float(decay ** (step // self.per_epoch) * fall**self.falls)

    def scale(self, optimizer: Optimizer, step: int) -> None:
        """Scales the rates that the schedule has set anew for update `step`."""
        factor = self.factor(step)
        for group in optimizer.param_groups if factor != 1 else ():
            group["lr"] *= factor

    def after_epoch(self, score: float) -> None:
        """Takes the score on the hold-out after an epoch."""
        self.falls += score <= self.best
        self.best = max(self.best, score)
