"""What each adaptation does to a model: which parameters are trained, and what is put into it."""

from collections.abc import Callable
from typing import Any

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.methods.adapters import adapters
from harness.finetuning.methods.low_rank import ia3, lora
from harness.finetuning.methods.prefix import prefix
from harness.finetuning.methods.prompt_tuning import prompt_tuning
from harness.finetuning.methods.selective import full, gradual, selective
from harness.finetuning.module_names import unsupported_adaptation
from harness.finetuning.task_model import TaskModel

Method = Callable[[TaskModel, Any], None]
"""(model, adaptation): changes the model, head and all, before it is trained."""


def _as_it_is(model: TaskModel, adaptation: Adaptation) -> None:
    """A frozen backbone is read so by its head (harness.finetuning.heads.classifier)."""


METHODS: dict[str, Method] = {
    "full": full,
    "frozen": _as_it_is,
    "selective": selective,
    "gradual": gradual,
    "lora": lora,
    "adapters": adapters,
    "prefix": prefix,
    "prompt_tuning": prompt_tuning,
    "ia3": ia3,
    "prompt": _as_it_is,
}


def adapt(model: TaskModel, adaptation: Adaptation) -> None:
    """Changes `model` in place: afterwards what requires a gradient is what is trained.

    Raises:
        ValueError: the network has no place for what is put in.
    """
    if why := unsupported_adaptation(adaptation, model.backbone.network.config.model_type):
        raise ValueError(f"the adaptation {adaptation.kind} does not suit the network: {why}")
    METHODS[adaptation.kind](model, adaptation)
