"""Lightning profilers that tell the parts of an update of pretraining apart."""

from contextlib import AbstractContextManager
from typing import Any

import torch
from pytorch_lightning.profilers import Profiler, SimpleProfiler
from torch.profiler import record_function

PARTS = {
    "train_dataloader_next": "data",
    "batch_to_device": "transfer",
    "forward": "forward",
    "backward": "backward",
    "optimizer": "optimiser",
}
"""End of the name of an action of Lightning's profilers to the part of an update that it is. None
of these actions holds another."""


def synchronise() -> None:
    """Waits for the GPU, if this process uses one."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


class PartDurations(SimpleProfiler):
    """The durations of actions, with the kernels that they start on a GPU."""

    def start(self, action_name: str) -> None:
        """Starts the clock of an action."""
        synchronise()
        super().start(action_name)

    def stop(self, action_name: str) -> None:
        """Stops the clock of an action."""
        synchronise()
        super().stop(action_name)

    @property
    def seconds(self) -> dict[str, float]:
        """Part to seconds since `recorded_durations` was empty."""
        found = dict.fromkeys(PARTS.values(), 0.0)
        for action, durations in self.recorded_durations.items():
            if part := _part(action):
                found[part] += sum(durations)
        return found


class PartLabels(Profiler):
    """Names the parts in a trace of torch's profiler."""

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[str, AbstractContextManager[Any]] = {}

    def start(self, action_name: str) -> None:
        """Begins the label of an action that is a part."""
        if part := _part(action_name):
            self._open[action_name] = record_function(part)
            self._open[action_name].__enter__()

    def stop(self, action_name: str) -> None:
        """Ends the label of an action."""
        if label := self._open.pop(action_name, None):
            label.__exit__(None, None, None)


def _part(action: str) -> str | None:
    """The part that an action is, such as `[_TrainingEpochLoop].train_dataloader_next`."""
    return PARTS.get(action.rpartition(".")[2])
