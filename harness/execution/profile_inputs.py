"""The pretraining stage that is profiled, and its inputs: of the store, or computed for it."""

from collections.abc import Callable, Mapping
from pathlib import Path

from harness.core.config import unknown_name
from harness.execution.job import StageJob, Workspace
from harness.execution.worker import run_stage
from harness.plan.plan import Plan, Stage
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.steps import planned_steps
from harness.store.artifacts import Artifact, local_folder
from harness.store.store import Store

OF_TEXT = ("tokenizer", "tokenize")
"""Kinds of stages that are computed if they are not finished."""


def profiled_stage(plan: Plan, arm: str | None = None) -> tuple[str, Stage]:
    """An arm and the pretraining stage of its first seed.

    Args:
        arm: null: the first that trains.

    Raises:
        ValueError: the arm is unknown, or trains nothing.
    """
    name, runs = plan.experiment.name, {one.name: one.pretrain for one in plan.arms}
    if arm is not None and arm not in runs:
        raise ValueError(unknown_name(f"{name}: the arm", arm, list(runs)))
    training = [one for one, run in runs.items() if _trains(run)]
    chosen = arm or next(iter(training), None)
    if chosen not in training:
        which = f"the arm {arm}" if arm else "an arm"
        instead = f"; arms that do: {', '.join(training)}" if training else ""
        raise ValueError(
            f"{name}: {which} must have updates of pretraining, but is an imported checkpoint, a "
            f"baseline or has a budget of 0{instead}"
        )
    key = next(key for (of, _), key in plan.pretrain_keys.items() if of == chosen)
    return chosen, plan.stages[key]


def _trains(run: Pretrain) -> bool:
    if run.model.facts.kind in ("checkpoint", "baseline"):
        return False
    return bool(run.budget.seconds) or planned_steps(run) > 0


def stage_inputs(
    plan: Plan,
    stage: Stage,
    store: Store | None,
    workspace: Workspace,
    report: Callable[[str], None],
) -> Mapping[str, Path]:
    """Role to folder of the inputs of a stage. Tokenizer and tokens that the store lacks are
    computed in `workspace`.

    Args:
        store: null: there is none.
        report: called with each stage that is computed, in words.

    Raises:
        ValueError: a run that this one starts from or learns from is not finished.
    """
    finished = {}
    for role, key in stage.parents.items():
        finished[role] = _finished(store, key) or _computed(plan, key, store, workspace, report)
    return {role: local_folder(artifact) for role, artifact in finished.items()}


def _finished(store: Store | None, key: str) -> Artifact | None:
    """The files of a finished stage, if they are intact and none was left out."""
    result = store.find(key) if store else None
    if store is None or result is None or result.left_out or store.fetch(result) is None:
        return None
    return Artifact(result.artifact_uri, result.digest)


def _computed(
    plan: Plan,
    key: str,
    store: Store | None,
    workspace: Workspace,
    report: Callable[[str], None],
) -> Artifact:
    stage, out = plan.stages[key], workspace.output(key)
    if stage.kind not in OF_TEXT:
        raise ValueError(
            f"the run starts from the stage {stage.kind} {stage.label}, which must be finished; "
            "compute it with 'harness run' first"
        )
    if not out.exists():
        inputs = {
            role: _finished(store, parent) or _computed(plan, parent, store, workspace, report)
            for role, parent in stage.parents.items()
        }
        report(f"{stage.kind} {stage.label}")
        experiment = plan.experiment
        job = StageJob(
            stage.kind, key, stage.spec, inputs, experiment.compute, plugins=experiment.plugins
        )
        run_stage(job, workspace)
    return Artifact(out.as_uri(), "")
