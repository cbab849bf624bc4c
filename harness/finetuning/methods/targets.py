"""The projections that an adaptation by `peft` changes."""

import re

from torch import nn
from transformers.pytorch_utils import Conv1D

from harness.finetuning.methods.parts import in_token_head, modules_called
from harness.finetuning.module_discovery import names_of
from harness.finetuning.task_model import TaskModel

LINEAR = (nn.Linear, Conv1D)


def target_pattern(model: TaskModel, targets: tuple[str, ...] | None) -> str:
    """Regular expression of the full names of the targets that a loss depends on; null: query and
    value projections.

    Raises:
        ValueError: the network does not have a target, or all are of a token head that is not read.
    """
    network = model.backbone.network
    if not targets:
        return names_of(network).query_value
    _check_targets(network, targets)
    pattern = rf"(.*\.)?({'|'.join(targets)})"
    found = [name for name, part in modules_called(network, pattern) if isinstance(part, LINEAR)]
    unread = [] if model.reads_token_head else [n for n in found if in_token_head(network, n)]
    if unread and len(unread) == len(found):
        raise ValueError(
            f"adaptation.targets must name projections that the task reads, but {unread[0]} is of "
            "the token head"
        )
    return rf"(?!({'|'.join(map(re.escape, unread))})$){pattern}" if unread else pattern


def are_conv1d(network: nn.Module, pattern: str) -> bool:
    """Whether the targets are `Conv1D` modules (GPT), whose matrices are transposed."""
    return any(isinstance(module, Conv1D) for _, module in modules_called(network, pattern))


def _check_targets(network: nn.Module, targets: tuple[str, ...]) -> None:
    present = {
        name.split(".")[-1]
        for name, module in network.named_modules()
        if isinstance(module, LINEAR)
    }
    for target in targets:
        if target.split(".")[-1] not in present:
            raise ValueError(
                f"adaptation.targets must name projections of the network, which are "
                f"{', '.join(sorted(present))}, but has {target}"
            )
