"""LoRA and (IA)3, by `peft`."""

from peft import IA3Config, LoraConfig, inject_adapter_in_model
from torch import nn
from transformers.pytorch_utils import Conv1D

from harness.finetuning.adaptation import Ia3, Lora
from harness.finetuning.methods.parts import modules_called
from harness.finetuning.module_discovery import names_of
from harness.finetuning.task_model import TaskModel


def lora(model: TaskModel, adaptation: Lora) -> None:
    """Adds B A x alpha / rank to the target projections, initially with B = 0 (Hu et al. 2022,
    section 4.1). A fused projection of queries, keys and values (GPT-2, DeBERTa, ModernBERT) is
    updated as a whole.

    Raises:
        ValueError: the network does not have a target.
    """
    network = model.backbone.network
    if adaptation.targets:
        pattern = rf"(.*\.)?({'|'.join(adaptation.targets)})"
        _check_targets(network, adaptation.targets)
    else:
        pattern = names_of(network).query_value
    config = LoraConfig(
        r=adaptation.rank,
        lora_alpha=adaptation.alpha,  # type: ignore[arg-type]  # peft takes fractions
        lora_dropout=adaptation.dropout,
        target_modules=pattern,
        fan_in_fan_out=_are_conv1d(network, pattern),
    )
    inject_adapter_in_model(config, network)


def ia3(model: TaskModel, adaptation: Ia3) -> None:
    """Multiplies keys, values and inner feed-forward activations by trained vectors, initially one
    (Liu et al. 2022, section 3.3). A fused projection also scales the queries."""
    network = model.backbone.network
    names = names_of(network)
    pattern = f"{names.key_value}|{names.feed_forward}"
    config = IA3Config(
        target_modules=pattern,
        feedforward_modules=names.feed_forward,
        fan_in_fan_out=_are_conv1d(network, pattern),
    )
    inject_adapter_in_model(config, network)


def _are_conv1d(network: nn.Module, pattern: str) -> bool:
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
