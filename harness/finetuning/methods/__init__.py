"""Adaptation methods: which parameters of a model are trained, and which are added."""

from collections.abc import Callable
from typing import Any

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.methods.adapters import adapters
from harness.finetuning.methods.layerwise import gradual, selective, staged
from harness.finetuning.methods.low_rank import adalora, ia3, lora, vera
from harness.finetuning.methods.orthogonal import boft, oft
from harness.finetuning.methods.virtual_tokens import prefix, prompt_tuning
from harness.finetuning.module_discovery import discovered
from harness.finetuning.module_names import unsupported_adaptation
from harness.finetuning.task_model import TaskModel

Method = Callable[[TaskModel, Any], None]
"""Called with (model, adaptation) before training; changes the model in place."""


def _unchanged(model: TaskModel, adaptation: Adaptation) -> None:
    """Nothing: all parameters are trained, or `heads.classifier` has frozen the backbone."""


METHODS: dict[str, Method] = {
    "full": _unchanged,
    "frozen": _unchanged,
    "selective": selective,
    "gradual": gradual,
    "staged": staged,
    "lora": lora,
    "dora": lora,
    "adalora": adalora,
    "vera": vera,
    "oft": oft,
    "boft": boft,
    "adapters": adapters,
    "prefix": prefix,
    "prompt_tuning": prompt_tuning,
    "ia3": ia3,
    "prompt": _unchanged,
}
"""Kind of adaptation to method."""


def adapt(model: TaskModel, adaptation: Adaptation) -> None:
    """Changes `model` in place; afterwards its trained parameters are those that require gradients.

    Raises:
        ValueError: the network does not support the adaptation.
    """
    network = model.backbone.network
    kind = network.config.model_type
    if why := unsupported_adaptation(adaptation, kind, lambda: discovered(network)):
        raise ValueError(f"the adaptation {adaptation.kind} does not suit the network: {why}")
    METHODS[adaptation.kind](model, adaptation)
