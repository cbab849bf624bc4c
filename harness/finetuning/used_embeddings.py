"""Trains only those rows of the token embeddings that the training examples use.

The others get no gradient: under AdamW all that changes them is weight decay, which is applied to
them at once at the end. A tiny network with 30,522 tokens has 90 % of its parameters there, which
the optimiser and the norm of the gradients would read at each update. Results are the same up to
rounding (`tests/finetuning/test_used_embeddings.py`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

from harness.finetuning.multitask import TaskData
from harness.finetuning.task_model import TaskModel

SPECIAL = ("pad", "bos", "eos", "cls", "sep", "decoder_start")
MOST = 0.5
"""Share of the rows up to which the others are left out."""


class UsedEmbeddings:
    """The token embeddings of a network, of which the used rows are trained."""

    def __init__(self, modules: Sequence[nn.Embedding], rows: np.ndarray) -> None:
        """Replaces the weight that `modules` share by its `rows` [U]."""
        self.modules, self.whole_weight = modules, modules[0].weight
        self.rows = torch.from_numpy(rows)
        self.place = torch.full((len(self.whole_weight),), -1)
        self.place[self.rows] = torch.arange(len(rows))
        self.decay = 1.0
        """Factor by which weight decay has changed the other rows since they were last written."""
        trained = self.whole_weight.requires_grad
        self.weight = nn.Parameter(self.whole_weight.detach()[self.rows], trained)
        self._use_rows()

    def _use_rows(self) -> None:
        self.whole_weight.requires_grad_(False)  # a tied output layer holds it, and is not trained
        for module in self.modules:
            module.weight = self.weight
            vars(module)["forward"] = partial(self._forward, module.padding_idx)  # until `restore`

    def _forward(self, padding: int | None, ids: Tensor) -> Tensor:
        """[..., H] embeddings of used tokens [...]; IndexError for others."""
        place = None if padding is None else int(self.place[padding])
        return F.embedding(self.place[ids], self.weight, place)

    def count_decay(self, optimizer: Optimizer, *_: Any) -> None:
        """Hook before each update: notes the weight decay of the other rows."""
        for group in optimizer.param_groups:
            if any(one is self.weight for one in group["params"]) and self.weight.grad is not None:
                self.decay *= 1 - group["lr"] * group["weight_decay"]

    @torch.no_grad()
    def restore(self) -> None:
        """Gives the module back all rows, trained and decayed."""
        if self.decay != 1:
            self.whole_weight *= self.decay
        self.whole_weight[self.rows] = self.weight.detach()
        self.decay = 1.0
        self.whole_weight.requires_grad_(self.weight.requires_grad)
        for module in self.modules:
            module.weight = self.whole_weight
            del vars(module)["forward"]

    @contextmanager
    def whole(self) -> Iterator[None]:
        """A context with all rows, such as for evaluation; training goes on after it."""
        self.restore()
        try:
            yield
        finally:
            self._use_rows()


def use_rows(models: Sequence[TaskModel], tasks: Sequence[TaskData]) -> UsedEmbeddings | None:
    """Replaces the token embeddings of task models, which share a backbone, by the rows that their
    training examples use; null if that is not possible, or most are used."""
    network: Any = models[0].backbone.network
    find = getattr(network, "get_input_embeddings", None)
    weight = getattr(find() if find else None, "weight", None)
    modules = [module for module in network.modules() if getattr(module, "weight", 0) is weight]
    tables = [module for module in modules if isinstance(module, nn.Embedding)]
    if not tables or any(type(m) is not nn.Embedding or m.max_norm or m.sparse for m in tables):
        return None
    is_trained = tables[0].weight.requires_grad or any(model.unfreezing for model in models)
    if not is_trained or any(model.names_tokens for model in models):
        return None
    data = [part for task in tasks for part in (task.train, task.train.swapped) if part]
    special = [*(task.head.pad_token_id for task in tasks), *_special(network)]
    rows = np.unique(np.concatenate([special, *(one.input_ids.values for one in data)]))
    if len(rows) > MOST * len(tables[0].weight):
        return None
    return UsedEmbeddings(tables, rows.astype(np.int64))


def with_all_rows(
    on_epoch: Callable[[Any, int], Mapping[str, float]], used: UsedEmbeddings
) -> Callable[[Any, int], Mapping[str, float]]:
    """A callback of (model, epoch) that is called while the model has all rows."""

    def called(model: Any, epoch: int) -> Mapping[str, float]:
        with used.whole():
            return on_epoch(model, epoch)

    return called


def _special(network: Any) -> list[int]:
    """Tokens that a network puts into its inputs itself, such as the first one of a decoder."""
    named = (getattr(network.config, f"{name}_token_id", None) for name in SPECIAL)
    return [token for token in named if isinstance(token, int) and token >= 0]
