"""Checks of ensembles over pretraining: there are networks to average, and ensembles that share
none of them."""

from collections.abc import Iterator

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Seeds

FIELD = ("evaluate", "ensemble", "over")


def problems(arm: Arm, seeds: Seeds) -> Problems:
    """Seeds and networks that give no ensemble over pretraining."""
    if arm.networks > 1:
        for why in (*_seed_problems(seeds, arm.networks), *_run_problems(arm)):
            yield FIELD, f"evaluate.ensemble.over must be left out for {arm.name!r}: {why}"


def _seed_problems(seeds: Seeds, members: int) -> Iterator[str]:
    if len(seeds.pretrain) < members:
        yield (
            f"an ensemble of {members} networks needs {members} pretraining seeds, but "
            f"seeds.pretrain has {len(seeds.pretrain)}; or raise seeds.pretrain"
        )
    if seeds.in_worlds:
        yield "with seeds.world: per_seed, its members would be of different worlds"
    if seeds.looks:
        yield (
            "with seeds.looks, verdicts are made at numbers of pretraining seeds, of which an "
            "ensemble has several; or leave out seeds.looks"
        )


def _run_problems(arm: Arm) -> Iterator[str]:
    if arm.has_one_run:
        yield "a checkpoint is one pretraining run for any number of seeds"
    if arm.pretrain.checkpoint_fractions:
        yield (
            "scores in the course of pretraining are those of single networks; or leave out "
            "pretrain.checkpoint_fractions"
        )
