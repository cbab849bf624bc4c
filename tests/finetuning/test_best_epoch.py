"""The weights of the best epoch are kept, and no others."""

import weakref

import torch
from torch import nn

from harness.finetuning.best_epoch import BestEpoch


def model_of(value: float) -> nn.Linear:
    model = nn.Linear(1, 1)
    nn.init.constant_(model.weight, value)
    return model


def test_the_first_of_the_best_epochs_is_restored() -> None:
    best, model = BestEpoch(), model_of(0)
    best.restore(model)
    assert model.weight.item() == 0
    for epoch, score in enumerate([-1.0, 0.2, 0.7, 0.7, 0.1], 1):
        best.offer(score, model_of(epoch))
    best.restore(model)
    assert model.weight.item() == 3


def test_one_copy_is_in_memory() -> None:
    best, copies = BestEpoch(), list[weakref.ref[torch.Tensor]]()
    for score in (0.1, 0.2, 0.1, 0.3):
        best.offer(score, model_of(score))
        copies.append(weakref.ref(best.weights["weight"]))
    assert [copy() is not None for copy in copies] == [False, False, False, True]
