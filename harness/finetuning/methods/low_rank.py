"""LoRA and (IA)3, put into a network by `peft`."""

from peft import IA3Config, LoraConfig, inject_adapter_in_model
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import nn
from transformers.pytorch_utils import Conv1D

from harness.finetuning.adaptation import Ia3, Lora
from harness.finetuning.methods.parts import modules_called
from harness.finetuning.module_names import MODULE_NAMES
from harness.finetuning.task_model import TaskModel


def lora(model: TaskModel, adaptation: Lora) -> None:
    """Puts B A x alpha / rank beside the target projections (Hu et al. 2022, section 4.1); B starts
    at zero, so that nothing changes at first. Where queries, keys and values are one projection
    (GPT-2, DeBERTa, ModernBERT), the update is of all three.

    Raises:
        ValueError: the network has none of the targets.
    """
    network = model.backbone.network
    if adaptation.targets:
        pattern = rf"(.*\.)?({'|'.join(adaptation.targets)})"
        _check_targets(network, adaptation.targets)
    else:
        pattern = MODULE_NAMES[network.config.model_type].query_value
    config = LoraConfig(
        r=adaptation.rank,
        lora_alpha=adaptation.alpha,  # type: ignore[arg-type]  # peft takes fractions
        lora_dropout=adaptation.dropout,
        target_modules=pattern,
        fan_in_fan_out=_are_conv1d(network, pattern),
    )
    inject_adapter_in_model(config, network)


def ia3(model: TaskModel, adaptation: Ia3) -> None:
    """Multiplies keys, values and inner activations of feed-forward layers by trained vectors that
    start at one (Liu et al. 2022, section 3.3). Where queries, keys and values are one projection,
    queries are scaled, too."""
    network = model.backbone.network
    places = MODULE_NAMES[network.config.model_type]
    pattern = f"{places.key_value}|{places.feed_forward}"
    config = IA3Config(
        target_modules=pattern,
        feedforward_modules=places.feed_forward,
        fan_in_fan_out=_are_conv1d(network, pattern),
    )
    inject_adapter_in_model(config, network)


def merge(model: TaskModel) -> None:
    """Adds what `lora` or `ia3` has trained to the weights, and takes the method out; what is
    predicted stays the same."""
    network = model.backbone.network
    for name, module in list(network.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge()
            parent, _, last = name.rpartition(".")
            setattr(network.get_submodule(parent), last, module.get_base_layer())


def _are_conv1d(network: nn.Module, pattern: str) -> bool:
    """Whether the targets are GPT's projections, whose matrices lie the other way round."""
    return any(isinstance(module, Conv1D) for _, module in modules_called(network, pattern))


def _check_targets(network: nn.Module, targets: tuple[str, ...]) -> None:
    there = {
        name.split(".")[-1]
        for name, module in network.named_modules()
        if isinstance(module, (nn.Linear, Conv1D))
    }
    for target in targets:
        if target.split(".")[-1] not in there:
            raise ValueError(
                f"adaptation.targets must name projections of the network, which are "
                f"{', '.join(sorted(there))}, but has {target}"
            )
