"""LoRA, DoRA, AdaLoRA, VeRA and (IA)3, by `peft`."""

import warnings
from typing import Any

from peft import (
    AdaLoraConfig,
    IA3Config,
    LoraConfig,
    VeraConfig,
    VeraModel,
    inject_adapter_in_model,
)

from harness.finetuning.adaptation import Ia3
from harness.finetuning.methods.targets import are_conv1d, target_pattern
from harness.finetuning.module_discovery import names_of
from harness.finetuning.projection_updates import Adalora, Dora, Lora, Vera
from harness.finetuning.task_model import TaskModel


def lora(model: TaskModel, adaptation: Lora | Dora) -> None:
    """Adds B A x alpha / rank to the target projections, initially with B = 0 (Hu et al. 2022,
    section 4.1). A fused projection of queries, keys and values (GPT-2, DeBERTa, ModernBERT) is
    updated as a whole.

    With `Dora`, each row of a matrix [out, in] then has a trained norm, initially that of the
    pretrained row (Liu et al. 2024, equation 5, whose matrices are transposed). The norm by which
    it is divided has no gradient (section 4.3).

    Raises:
        ValueError: the network does not have a target.
    """
    network = model.backbone.network
    pattern = target_pattern(model, adaptation.targets)
    config = LoraConfig(
        r=adaptation.rank,
        lora_alpha=adaptation.alpha,  # type: ignore[arg-type]  # peft takes fractions
        lora_dropout=adaptation.dropout,
        target_modules=pattern,
        fan_in_fan_out=are_conv1d(network, pattern),
        use_rslora=adaptation.scaling == "sqrt",
        use_dora=isinstance(adaptation, Dora),
    )
    inject_adapter_in_model(config, network)


def adalora(model: TaskModel, adaptation: Adalora) -> None:
    """Adds P diag(E) Q x alpha / initial rank to the target projections, initially with E = 0
    (Zhang et al. 2023, equation 3). All have the initial rank; `rank_budget` reduces it in training
    by zeros in E.

    Raises:
        ValueError: the network does not have a target.
    """
    network = model.backbone.network
    pattern = target_pattern(model, adaptation.targets)
    config = AdaLoraConfig(
        init_r=adaptation.first_rank,
        lora_alpha=adaptation.alpha,  # type: ignore[arg-type]  # peft takes fractions
        lora_dropout=adaptation.dropout,
        target_modules=pattern,
        fan_in_fan_out=are_conv1d(network, pattern),
        total_step=1,  # required; `rank_budget` has the schedule
    )
    inject_adapter_in_model(config, network)


def vera(model: TaskModel, adaptation: Vera) -> None:
    """Adds diag(b) B diag(d) A x to the target projections, with trained vectors b, initially 0,
    and d (Kopiczko et al. 2024, equation 2). The frozen A and B are drawn once; a projection takes
    as many of their columns and rows as it has inputs and outputs.

    Raises:
        ValueError: the network does not have a target.
    """
    network = model.backbone.network
    pattern = target_pattern(model, adaptation.targets)
    config = _seeded(
        r=adaptation.rank,
        vera_dropout=adaptation.dropout,
        d_initial=adaptation.initial_scale,
        projection_prng_key=adaptation.projection_seed,
        target_modules=pattern,
        fan_in_fan_out=are_conv1d(network, pattern),
    )
    VeraModel(network, config, "default")  # changes it in place; A and B are held by its layers


def _seeded(**fields: Any) -> VeraConfig:
    """A configuration whose random matrices are no part of a state, where every projection would
    have a copy: they are drawn again."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Specified to not save vera_A", UserWarning)
        return VeraConfig(save_projection=False, **fields)


def ia3(model: TaskModel, adaptation: Ia3) -> None:
    """Multiplies keys, values and inner feed-forward activations by trained vectors, initially one
    (Liu et al. 2022, section 3.3). A fused projection also scales the queries."""
    network = model.backbone.network
    names = names_of(network)
    pattern = f"{names.key_value}|{names.feed_forward}"
    config = IA3Config(
        target_modules=pattern,
        feedforward_modules=names.feed_forward,
        fan_in_fan_out=are_conv1d(network, pattern),
    )
    inject_adapter_in_model(config, network)
