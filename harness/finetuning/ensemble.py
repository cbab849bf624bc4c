"""Ensembles of fine-tuning runs, as an experiment declares them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, model_validator

from harness.core.config import ConfigModel
from harness.finetuning.compatibility import answered_as_text
from harness.finetuning.protocol import Protocol
from harness.tasks.task import Task


class Ensemble(ConfigModel):
    """Several runs of fine-tuning, from one pretrained network or from several, scored as one
    model."""

    members: int = Field(ge=2, le=1_000)
    """Runs with different fine-tuning seeds, or of different pretrained networks."""
    average: Literal["outputs", "weights"] = "outputs"
    """What is averaged: the outputs of the networks, of classes before the softmax (Raffel et al.
    2020, section 3.6, "fine-tune only": 4 members), or their trained weights, which makes one
    network (Wortsman et al. 2022, "uniform soup"). Members whose weights are averaged begin with
    the same new weights, and differ in the order of the examples and in dropout."""
    over: Literal["pretraining"] | None = None
    """`pretraining`: members begin with networks of different pretraining seeds and have one
    fine-tuning seed (ibid., "4x ensembled" beside "4x ensembled, fine-tune only"); null: with one
    network, and have different fine-tuning seeds."""

    @model_validator(mode="after")
    def _averages_outputs(self) -> "Ensemble":
        if self.over and self.average == "weights":
            raise ValueError(
                "average must be outputs where members are pretrained separately (over: "
                "pretraining), but is weights: units of such networks do not correspond (Ainsworth "
                "et al. 2023 permute them first); leave out average, or over"
            )
        return self

    @property
    def label(self) -> str:
        """As text: `outputs of 4 runs` or `outputs of 4 pretraining runs`."""
        kind = "pretraining runs" if self.over else "runs"
        return f"{self.average} of {self.members} {kind}"

    def groups(self, seeds: Sequence[int]) -> list[tuple[int, ...]]:
        """The pretraining seeds of each ensemble over pretraining. No two share one, so that
        ensembles are independent; seeds that are too few for another one are left over."""
        starts = range(0, len(seeds) - self.members + 1, self.members)
        return [tuple(seeds[start : start + self.members]) for start in starts]

    def seeds(self, seed: int) -> list[int]:
        """The fine-tuning seeds of the members of the ensemble with a fine-tuning seed. No two
        ensembles share one."""
        return [self.members * seed + number for number in range(self.members)]


def ensemble_problem(ensemble: Ensemble, tasks: Collection[Task], protocol: Protocol) -> str:
    """Why the runs on `tasks` cannot be averaged; empty if they can."""
    if ensemble.average == "weights":
        return ""
    advice = "leave out the task" if ensemble.over else "set ensemble.average to weights"
    for task in tasks:
        if ensemble.over and not task.train:
            return (
                f"ensemble over pretraining averages fine-tuned networks, but {task.name} has no "
                "train set, so that each network is scored alone; leave out the task, or over"
            )
        if task.kind == "coreference":
            return (
                "ensemble averages outputs of classes, places and values, but those of "
                f"{task.name} are vectors of mentions; {advice}"
            )
        if answered_as_text(task, protocol):
            return (
                f"ensemble averages outputs of an output layer, but {task.name} is answered as "
                f"text; {advice}"
            )
    return ""


def recorded_networks(arm: Mapping[str, Any]) -> int:
    """Pretrained networks that a recorded arm scores as one: the members of an ensemble over
    pretraining, else 1.

    Args:
        arm: its `pretrain` and `evaluate` as plain data.
    """
    given = arm.get("evaluate", {}).get("ensemble") or {}
    return int(given["members"]) if given.get("over") else 1
