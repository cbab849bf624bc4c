"""Checks of the size of an experiment, before its stages are listed."""

from collections.abc import Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment

MAX_RUNS = 500_000
"""Fine-tuning runs and trials, whose plan takes about a minute and a gigabyte."""


def run_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """More runs than a plan may have."""
    runs = sum(_num_runs(experiment, arm) for arm in arms)
    if runs > MAX_RUNS:
        seeds, search = experiment.seeds, experiment.sweep.pretrain
        before = f", {search.size:,} of pretraining" if search else ""
        each = " for each pretraining seed" if experiment.sweep.seeds else ""
        yield (
            ("seeds",),
            f"a plan must have at most {MAX_RUNS:,} fine-tuning runs and trials, but has {runs:,}: "
            f"{len(arms):,} arms, {len(experiment.evaluate.chosen):,} tasks, "
            f"{len(seeds.pretrain):,} x {len(seeds.finetune):,} seeds, "
            f"{experiment.sweep.trials:,} trials{each}{before}",
        )


def _num_runs(experiment: Experiment, arm: Arm) -> int:
    """Runs of an arm on all tasks, with the members of ensembles, and its trials."""
    seeds, is_trained = experiment.seeds, arm.pretrain.model.facts.kind != "baseline"
    networks = 1 if arm.has_one_run else len(seeds.pretrain)
    runs = networks * (len(arm.pretrain.checkpoint_fractions) + 1)
    runs *= len(seeds.finetune) if is_trained else 1
    if arm.evaluate.ensemble and is_trained:
        runs = runs * (arm.evaluate.ensemble.members + 1) // arm.networks
    trials = 0 if arm.sweep.sampler == "tpe" else arm.sweep.size
    trials *= networks if arm.sweep.seeds == "each" else 1
    before = arm.pretrain_search.size if arm.pretrain_search else 0
    return before + len(arm.evaluate.chosen) * (runs + trials)
