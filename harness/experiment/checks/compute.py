"""Checks of `compute.devices` and `compute.strategy` against the runs that they are for."""

from collections.abc import Iterator, Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.experiment.recipe_defaults import earlier_runs, named_role
from harness.pretraining.recipes.pretrain import Pretrain

ELEMENTWISE = ("adamw", "sgd", "adagrad")
"""Optimisers that update each weight by itself, so that a part of the weights is enough."""


def device_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """More devices than a batch has sequences. How many `auto` are is known on each machine."""
    compute = experiment.compute
    if compute.devices != "auto" and (why := small_batch(arms, compute.devices, compute.num_nodes)):
        yield ("compute", "devices"), why
    if experiment.compute.strategy == "fsdp" and (why := _unsharded(arms)):
        yield ("compute", "strategy"), why


def _unsharded(arms: Sequence[Arm]) -> str:
    """Why weights cannot be divided among devices; empty if they can."""
    for run, name in _trained_runs(arms):
        why = ""
        if run.optimizer.kind not in ELEMENTWISE:
            why = (
                f"with the optimizer {run.optimizer.kind}, as in {name}, whose updates depend on "
                "whole matrices"
            )
        elif _learns_attention_alone(run):
            why = (
                f"for a student that learns attention alone, as in {name}, because its last layer "
                "gets no gradient from above, for which its weights would be gathered"
            )
        if why:
            return f"compute.strategy must be ddp or auto {why}, but is fsdp; change one"
    return ""


def _learns_attention_alone(run: Pretrain) -> bool:
    """Whether no loss reads the states of the last layer, as in MiniLM."""
    last = run.objectives[-1]
    others = last.sentence_pair != "none" or last.span_boundary
    return bool(last.distillation and last.distillation.of_attention_alone and not others)


def small_batch(arms: Sequence[Arm], devices: int, num_nodes: int = 1) -> str:
    """Why no batch can be divided among so many devices of so many nodes; empty if all can."""
    number = devices * num_nodes
    sizes = ((run.batch_size, name) for run, name in _trained_runs(arms))
    size, run = min(sizes, default=(number, ""))
    if size >= number:
        return ""
    all_nodes, given = "", f"{devices}"
    if num_nodes > 1:
        all_nodes, given = " x compute.num_nodes", f"{devices} x {num_nodes}"
    return (
        f"compute.devices{all_nodes} must be at most the sequences of a batch, {size} in {run}, "
        f"but is {given}; lower it, or raise the batch_size"
    )


def _trained_runs(arms: Sequence[Arm]) -> Iterator[tuple[Pretrain, str]]:
    """Each run that pretrains, also further, and what it is."""
    for arm in arms:
        run = arm.pretrain
        for path, other in earlier_runs(run):
            yield other, f"the {named_role(path)} of {arm.name!r}"
        if not (run.model.checkpoint or run.budget.is_zero):
            yield run, f"the pretraining of {arm.name!r}"
        for step in arm.evaluate.continued_pretraining:
            size = {"batch_size": step.batch_size or run.batch_size}
            yield run.model_copy(update=size), f"the continued pretraining of {arm.name!r}"
