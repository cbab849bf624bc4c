"""The projections that an adaptation by `peft` changes."""

from torch import nn
from transformers.pytorch_utils import Conv1D

from harness.finetuning.methods.parts import modules_called
from harness.finetuning.module_discovery import names_of


def target_pattern(network: nn.Module, targets: tuple[str, ...] | None) -> str:
    """Regular expression of the full names of the targets; null: query and value projections.

    Raises:
        ValueError: the network does not have a target.
    """
    if not targets:
        return names_of(network).query_value
    _check_targets(network, targets)
    return rf"(.*\.)?({'|'.join(targets)})"


def are_conv1d(network: nn.Module, pattern: str) -> bool:
    """Whether the targets are `Conv1D` modules (GPT), whose matrices are transposed."""
    return any(isinstance(module, Conv1D) for _, module in modules_called(network, pattern))


def _check_targets(network: nn.Module, targets: tuple[str, ...]) -> None:
    present = {
        name.split(".")[-1]
        for name, module in network.named_modules()
        if isinstance(module, (nn.Linear, Conv1D))
    }
    for target in targets:
        if target.split(".")[-1] not in present:
            raise ValueError(
                f"adaptation.targets must name projections of the network, which are "
                f"{', '.join(sorted(present))}, but has {target}"
            )
