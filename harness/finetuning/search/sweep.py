"""The searches of settings, as an experiment declares them; the published grids."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from harness.core.config import ConfigModel, as_tuples, unknown_name
from harness.finetuning.protocol import Finetune
from harness.finetuning.search.pretrain_search import PretrainSearch
from harness.finetuning.search.space import (
    ADAPTATION,
    ADAPTATION_PREFIX,
    Dimension,
    Range,
    branches_of,
    check_branches,
    check_grid,
    check_tried,
    ends,
    num_points,
    ranges_of,
)

TPE_STARTUP = 10
"""Random trials before `tpe` starts: optuna's default."""
PRUNER_STARTUP = 5
"""Trials that the median pruner leaves alone: optuna's default."""

MAX_TRIALS = 10_000

SPACES: dict[str, Mapping[str, Dimension]] = {
    # Devlin et al. 2019, appendix A.3
    "bert_grid": {"batch_size": (16, 32), "learning_rate": (5e-5, 3e-5, 2e-5), "epochs": (2, 3, 4)},
    # Liu et al. 2019, appendix C, table 10
    "roberta_grid": {"batch_size": (16, 32), "learning_rate": (1e-5, 2e-5, 3e-5)},
    # google-research/bert README, the smaller models of Turc et al. 2019
    "small_bert_grid": {
        "batch_size": (8, 16, 32, 64, 128),
        "learning_rate": (3e-4, 1e-4, 5e-5, 3e-5),
    },
    # Clark et al. 2020 (ELECTRA), appendix B, of the base size
    "electra_grid": {"learning_rate": (3e-5, 5e-5, 1e-4, 1.5e-4), "layer_decay": (0.9, 0.8, 0.7)},
    # Houlsby et al. 2019, section 3.2; for the adaptation `adapters`
    "adapter_grid": {
        "adaptation.bottleneck": (8, 64, 256),
        "learning_rate": (3e-5, 3e-4, 3e-3),
        "epochs": (3, 20),
    },
}
"""Name to space. A grid with more points than trials is tried in a shuffled order that depends on
the space alone."""


class Sweep(ConfigModel):
    """Search of fine-tuning settings on a hold-out of train, equal for all arms and tasks."""

    trials: int = Field(default=0, ge=0, le=MAX_TRIALS)
    """Trials per (arm, task), or per arm with `evaluate.multitask`; 0: no search."""
    sampler: Literal["tpe", "random", "grid"] = "tpe"
    """`random` and `grid` try the same points for every arm and task, in parallel; a trial of `tpe`
    depends on those before it, so that its study is one stage. Where it is not set: `grid` for
    choices if there are trials for all of them, `random` for up to 10 trials, else `tpe`."""
    space: Mapping[str, Dimension] = Field(default_factory=dict)
    """A name in `harness list spaces`, or fields of `evaluate.finetune` (and `adaptation.<field>`
    of the adaptation) with their choices or ranges. `adaptation` searches several adaptations, each
    with a space of its own: `{full: {}, lora: {rank: [4, 8]}}`."""
    pruner: Literal["median", "successive_halving", "hyperband"] | None = None
    """Ends trials early by their hold-out score after each epoch: below the median of earlier
    trials (Golovin et al. 2017, section 3.4), or not in the top share of a rung (Li et al. 2020,
    asynchronous), with a first rung that differs between the brackets of `hyperband` (Li et al.
    2018). For `tpe` only."""
    seeds: Literal["each"] | None = None
    """`each` searches on the network of every pretraining seed, whose runs have the settings chosen
    there, so that intervals over seeds contain the noise of the search (Bouthillier et al. 2021,
    section 3); null: one search, on the network of the first seed."""
    pretrain: PretrainSearch | None = None
    """The search of pretraining settings, before that of fine-tuning; null: the declared ones."""

    @property
    def size(self) -> int:
        """Number of trials, at most the points of a grid."""
        return min(self.trials, num_points(self.space)) if self.sampler == "grid" else self.trials

    @property
    def label(self) -> str:
        """The search as text: `8 random trials`."""
        each = " per pretraining seed" if self.seeds else ""
        pruned = f", {self.pruner} pruner" if self.pruner else ""
        names = ", ".join(branches_of(self.space))
        over = f" over the adaptations {names}" if names else ""
        return f"{self.size} {self.sampler} trials{each}{pruned}{over}" if self.trials else "none"

    @field_validator("space", mode="before", json_schema_input_type=str | dict[str, Dimension])
    @classmethod
    def _named(cls, space: Any) -> Any:
        if isinstance(space, str):
            if space not in SPACES:
                raise ValueError(unknown_name("the space", space, SPACES))
            return SPACES[space]
        for name in space if isinstance(space, Mapping) else ():
            known = (*Finetune.model_fields, ADAPTATION, f"{ADAPTATION_PREFIX}<field>")
            if name not in known and not name.startswith(ADAPTATION_PREFIX):
                raise ValueError(unknown_name("the hyperparameter", name, known))
        return as_tuples(space)

    @field_validator("space")
    @classmethod
    def _possible(cls, space: Mapping[str, Dimension]) -> Mapping[str, Dimension]:
        check_branches(space)
        for name, dimension in space.items():
            if isinstance(dimension, Mapping):
                continue
            if not isinstance(dimension, Range) and len(set(dimension)) < len(dimension):
                raise ValueError(f"the choices of {name} must differ, but are {list(dimension)}")
            if not name.startswith(ADAPTATION_PREFIX):  # checked with the arms
                for value in ends(dimension):
                    check_tried(Finetune, name, value)
        return space

    @model_validator(mode="after")
    def _space_and_trials(self) -> "Sweep":
        if self.trials and not self.space:
            raise ValueError(f"{self.trials} trials need a space to search, but none is given")
        if self.space and "trials" not in self.model_fields_set:
            raise ValueError("a space needs trials, the number of points to try, but none is given")
        for name in ("seeds", "pruner"):
            if getattr(self, name) and not self.trials:
                given = f"{name} {getattr(self, name)}"
                raise ValueError(f"{given} needs trials, but there are none; leave it out")
        return self

    @model_validator(mode="after")
    def _suited_sampler(self) -> "Sweep":
        if "sampler" not in self.model_fields_set and self.trials and not self.pruner:
            if not ranges_of(self.space) and num_points(self.space) <= self.trials:
                self.__dict__["sampler"] = "grid"
            elif self.trials <= TPE_STARTUP:
                self.__dict__["sampler"] = "random"
        return self

    @model_validator(mode="after")
    def _sampler_supports(self) -> "Sweep":
        if self.sampler == "grid":
            check_grid(self.space, "random or tpe")
        if self.pruner and self.sampler != "tpe":
            raise ValueError(
                f"the pruner {self.pruner} needs the sampler tpe, whose trials know of those "
                f"before them, but the sampler is {self.sampler}"
            )
        return self
