"""Experiment -> Plan."""

from collections.abc import Sequence
from pathlib import Path

from harness.experiment.arms import Arm
from harness.experiment.declaration import Declaration, check_data, load
from harness.experiment.experiment import Experiment
from harness.plan.builder import Builder
from harness.plan.contract import check_contract, differing_fields, is_declared
from harness.plan.costs import SUSTAINED_FLOPS, pretraining_cost
from harness.plan.plan import Plan


def load_plan(path: Path, overrides: Sequence[str] = ()) -> tuple[Declaration, Plan]:
    """Reads, checks and plans an experiment file.

    Raises:
        DeclarationError: the file is wrong or its data is missing; every problem with its line.
    """
    declaration = load(path, overrides)
    check_data(declaration)
    return declaration, make_plan(declaration.experiment, declaration.arms)


def make_plan(experiment: Experiment, arms: Sequence[Arm]) -> Plan:
    """Plans `experiment`, whose grid resolves to `arms`. Reads fingerprints, imports no torch.

    Raises:
        ValueError: a data set is missing, or two arms differ where no axis says so.
    """
    builder = Builder(experiment)
    for arm in arms:
        builder.add(arm)
    differences = differing_fields(arms)
    declared = frozenset(path for path in differences if is_declared(path, arms))
    check_contract(differences, declared, arms)
    return Plan(
        experiment=experiment,
        arms=tuple(arms),
        stages=builder.stages,
        cells=tuple(builder.cells),
        pretrains=builder.pretrains,
        costs={arm.name: pretraining_cost(arm.pretrain) for arm in arms},
        differences=differences,
        declared=declared,
        probes=tuple(builder.probes),
        obstacles=builder.obstacles,
        continued=tuple(builder.continued.values()),
        rescored=tuple(builder.rescored),
        retained=tuple(builder.retained),
    )


def estimated_seconds(plan: Plan, keys: Sequence[str], workers: int) -> float:
    """Time of the stages `keys` on this many CPU threads, at an assumed rate; an order of size."""
    return sum(plan.stages[key].flops for key in keys) / SUSTAINED_FLOPS / max(1, workers)
