"""Experiment file or declaration -> Plan."""

from collections.abc import Sequence
from pathlib import Path

from harness.experiment.declaration import Declaration, load
from harness.experiment.plugins import errors_with_place
from harness.plan.builder import PlanBuilder
from harness.plan.differences import check_contract, declared_fields, differing_fields
from harness.plan.fingerprints import Fingerprints
from harness.plan.plan import Plan
from harness.plan.plugin_checks import check_functions
from harness.plan.teaching_runs import TeachingRuns, teachers_first

_READ = Fingerprints()


def load_plan(path: Path, overrides: Sequence[str] = (), variants: Sequence[str] = ()) -> Plan:
    """The plan of an experiment file; for the arguments, see `load`.

    Raises:
        DeclarationError: the file is invalid or data are missing; every problem with its line.
    """
    return make_plan(load(path, overrides, variants, with_data=True))


@errors_with_place()
def make_plan(declaration: Declaration, fingerprints: Fingerprints = _READ) -> Plan:
    """The plan of a declared experiment.

    Args:
        fingerprints: of the data; by default, those of the data that are there.

    Raises:
        ValueError: a data set is missing, or arms differ in a field that no axis sets.
        PluginError: a member of a plug-in fails, or does not do what its registry asks for.
    """
    arms = declaration.arms
    builder = PlanBuilder(declaration.experiment, TeachingRuns(arms), fingerprints)
    for arm in teachers_first(arms):
        builder.add(arm)
    check_functions(builder.graph.stages.values())
    differences = differing_fields(arms)
    declared = declared_fields(differences, arms)
    check_contract(differences, declared)
    return Plan(
        declaration=declaration,
        stages=builder.graph.stages,
        finetune_runs=tuple(builder.finetune_runs),
        pretrain_keys=builder.graph.pretrain_keys,
        costs={arm.name: builder.graph.pretraining_cost(arm.pretrain) for arm in arms},
        differences=differences,
        declared=declared,
        probe_runs=tuple(builder.probe_runs),
        sequential_scores=tuple(builder.sequential_scores),
        retained_losses=tuple(builder.retained_losses),
        continued_runs=tuple(builder.graph.continued_runs.values()),
        unsupported=builder.unsupported,
    )
