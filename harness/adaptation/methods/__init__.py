"""What each adaptation does to a model: which parameters are trained, and what is put into it."""

from collections.abc import Callable
from typing import Any

from harness.adaptation import Adaptation
from harness.adaptation.methods.selective import full, selective
from harness.adaptation.model import TaskModel

Method = Callable[[TaskModel, Any], None]
"""(model, adaptation): changes the model, head and all, before it is trained."""


def _as_it_is(model: TaskModel, adaptation: Adaptation) -> None:
    """A frozen backbone is read so by its head (harness.adaptation.classifier)."""


METHODS: dict[str, Method] = {
    "full": full,
    "frozen": _as_it_is,
    "selective": selective,
    "prompt": _as_it_is,
}


def adapt(model: TaskModel, adaptation: Adaptation) -> None:
    """Changes `model` in place: afterwards what requires a gradient is what is trained.

    Raises:
        ValueError: the network has no place for what is put in.
    """
    METHODS[adaptation.kind](model, adaptation)
