"""Replaces the token embeddings of a fine-tuned model while it reads a batch.

Shapes: B rows, T tokens, E embedding size.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from torch import Tensor, nn

from harness.finetuning.task_model import TaskModel
from harness.models.token_tables import token_tables

Change = Callable[[int, Tensor], Tensor]
"""(number of the call, embeddings [B, T, E]) to the embeddings [B, T, E] that the network reads."""


@contextmanager
def changed_embeddings(model: TaskModel, change: Change) -> Iterator[None]:
    """A context in which each call of the table of token embeddings gives what `change` returns.

    Hooks come before others: of noise, and of soft prompts, which are not changed.
    """
    network: Any = model.backbone.network
    calls = count()

    def hook(table: nn.Module, read: Any, embedded: Tensor) -> Tensor:
        return change(next(calls), embedded)

    tables = token_tables(network)
    handles = [table.register_forward_hook(hook, prepend=True) for table in tables]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
