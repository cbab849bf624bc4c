"""Ensembles of fine-tuning runs, as an experiment declares them."""

from collections.abc import Collection
from typing import Literal

from pydantic import Field

from harness.core.config import ConfigModel
from harness.finetuning.compatibility import answered_as_text
from harness.finetuning.protocol import Protocol
from harness.tasks.task import Task


class Ensemble(ConfigModel):
    """Several runs of fine-tuning from one pretrained network, scored as one model."""

    members: int = Field(ge=2, le=1_000)
    """Runs with different fine-tuning seeds."""
    average: Literal["outputs", "weights"] = "outputs"
    """What is averaged: the outputs of the networks, of classes before the softmax (Raffel et al.
    2020, section 3.6, "fine-tune only": 4 members), or their trained weights, which makes one
    network (Wortsman et al. 2022, "uniform soup"). Members whose weights are averaged begin with
    the same new weights, and differ in the order of the examples and in dropout."""

    @property
    def label(self) -> str:
        """As text: `outputs of 4 runs`."""
        return f"{self.average} of {self.members} runs"

    def seeds(self, seed: int) -> list[int]:
        """The fine-tuning seeds of the members of the ensemble with a fine-tuning seed. No two
        ensembles share one."""
        return [self.members * seed + number for number in range(self.members)]


def ensemble_problem(ensemble: Ensemble, tasks: Collection[Task], protocol: Protocol) -> str:
    """Why the runs on `tasks` cannot be averaged; empty if they can."""
    if ensemble.average == "weights":
        return ""
    for task in tasks:
        if task.kind == "coreference":
            return (
                "ensemble averages outputs of classes, places and values, but those of "
                f"{task.name} are vectors of mentions; set ensemble.average to weights"
            )
        if answered_as_text(task, protocol):
            return (
                f"ensemble averages outputs of an output layer, but {task.name} is answered as "
                "text; set ensemble.average to weights"
            )
    return ""
