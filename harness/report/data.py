"""What a report is made of, with no knowledge of where it is stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.frames.runs import PRETRAINING_COLUMNS, RUN_COLUMNS
from harness.finetuning.search.sweep import Sweep
from harness.tasks.task import Suite

Scores = Mapping[str, Mapping[str, np.ndarray]]
"""Column to arm to the scores x 100 of its runs; NaN where one is undefined."""


@dataclass(frozen=True)
class ReportData:
    """Everything that a report says; equal data gives an equal report, byte for byte."""

    name: str
    question: str
    source: str
    """Where the claim comes from."""
    expect: Sequence[tuple[str, str]]
    """(better, worse): what the source says will come out."""
    arms: Sequence[str]
    differences: Mapping[str, Mapping[str, Any]]
    """Dotted path to {arm: value}, for every field in which the arms differ."""
    suite: Suite | str
    """A suite, or the name of a shipped one."""
    results: pd.DataFrame
    """One row per arm, suite, task, split, metric, pretrain_seed, finetune_seed: `value`, `key`."""
    predictions: Callable[[str], pd.DataFrame]
    """Key of a fine-tuning run to its rows of split, index, label, prediction."""
    counts: Callable[[str], Mapping[str, np.ndarray]]
    """Key of a fine-tuning run to what `harness.tasks.scores.load_counts` gives of it."""
    curves: pd.DataFrame
    """Columns arm, pretrain_seed, step, tokens, loss."""
    costs: pd.DataFrame
    """Columns arm, stage (its kind), seconds, tokens, parameters, flops; null where none."""
    probes: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Columns arm, probe, category, pretrain_seed, score, chance, items, obstacle."""
    runs: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=RUN_COLUMNS))
    """As `harness.analysis.frames.runs.runs_frame` gives."""
    pretraining: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=PRETRAINING_COLUMNS)
    )
    """As `harness.analysis.frames.runs.pretraining_frame` gives."""
    checkpoints: pd.DataFrame = field(default_factory=pd.DataFrame)
    """As `results`, of weights along the way, with their `checkpoint`: a share of the updates."""
    losses: pd.DataFrame = field(default_factory=pd.DataFrame)
    """As `harness.analysis.frames.continued_pretraining.losses_frame` gives."""
    trials: pd.DataFrame = field(default_factory=pd.DataFrame)
    """As `harness.analysis.frames.trials.trials_frame` gives."""
    sweep: Sweep | None = None
    """What was searched; null where nothing was."""
    adaptation_costs: pd.DataFrame = field(default_factory=pd.DataFrame)
    """As `harness.analysis.frames.adaptation.adaptation_costs_frame` gives."""
    trained: Mapping[str, float] = field(default_factory=dict)
    """Arm to the parameters that it trains, where arms are adapted in different ways."""
    label_counts: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Arm to its name without its number of labels, and that number, where an axis varies it."""
    records: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Columns arm, task, pretrain_seed, finetune_seed, record, layer, name, value, step."""
    forgetting: pd.DataFrame = field(default_factory=pd.DataFrame)
    """Columns arm, pretrain_seed, finetune_seed, step, task, split, metric, value."""
    retained: pd.DataFrame = field(default_factory=pd.DataFrame)
    """As `harness.analysis.frames.adaptation.retained_frame` gives."""
    protocol: Mapping[str, Any] = field(default_factory=dict)
    """How every arm was fine-tuned."""
    flops_convention: str = ""
    """What the FLOPs count."""
    tasks: Sequence[str] | None = None
    """Some tasks of the suite; null takes all."""
    average: str | None = None
    """Name of an averaging rule; null takes the suite's own."""
    threats: Sequence[str] = ()
    """What else could explain the outcome, such as failed stages; one sentence each."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Section to text (of any length), or to a mapping of names to values: resolved spec, stage
    keys, data fingerprints, package versions, machine, command."""

    @property
    def suite_name(self) -> str:
        """What the results call the suite."""
        return self.suite.name if isinstance(self.suite, Suite) else self.suite
