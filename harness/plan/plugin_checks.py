"""Tries the members of plug-ins that a plan uses on made-up data, before anything is computed."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from harness.core.errors import MemberError
from harness.experiment.plugins import defined, error_line, errors_with_place
from harness.plan.plan import Stage
from harness.plan.plugin_use import Spec, tasks_of, used_members
from harness.pretraining.objectives.conformance import check_transform
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks.load_examples import load_examples
from harness.tasks.task import PluginData, Split, Task


def check_functions(stages: Iterable[Stage]) -> None:
    """Applies the transforms and metrics of plug-ins that stages use, and loads their data sets.

    Raises:
        MemberError: one does not do what its registry asks for.
        ValueError: the examples of a data set do not match a task.
        Exception: whatever their code raises.
    """
    _each(stages, "TRANSFORMS", _check_transforms)
    _each(stages, "METRICS", _check_metrics)
    _each(stages, "DATASETS", _check_datasets)


@errors_with_place()
def check_modules(stages: Iterable[Stage]) -> None:
    """Makes the Lightning modules of plug-ins that stages use, and computes their loss.

    Raises:
        PluginError: a loss is not a scalar that depends on the weights of the module, or one fails;
            with its place.
    """
    _each(stages, "MODULES", _check_module)


def _each(
    stages: Iterable[Stage], registry: str, check: Callable[[Spec, Collection[str]], None]
) -> None:
    """Checks each of the different specifications that name members of plug-ins."""
    added = defined(registry)
    if not added:
        return
    specs: dict[str, Any] = {}
    for stage in stages:
        if used_members(stage.spec)[registry] & added:
            relevant = {name: stage.spec.get(name) for name in ("pretrain", "content", "tasks")}
            specs.setdefault(json.dumps(relevant, sort_keys=True), stage.spec)
    for spec in specs.values():
        check(spec, added)


def _check_transforms(spec: Spec, added: Collection[str]) -> None:
    for objective in Pretrain.model_validate(spec["pretrain"]).objectives:
        if objective.transform.kind in added:
            check_transform(objective)


def _tasks(spec: Spec) -> list[Task]:
    return [Task.model_validate({"name": one["task"], **one["content"]}) for one in tasks_of(spec)]


def _check_metrics(spec: Spec, added: Collection[str]) -> None:
    from harness.tasks.metrics import METRICS
    from harness.tasks.metrics.check import check_metric

    for task in _tasks(spec):
        for metric in filter(added.__contains__, task.metrics):
            with _named(f"the metric {metric!r}", METRICS[metric]):
                check_metric(METRICS[metric], task)


def _check_datasets(spec: Spec, added: Collection[str]) -> None:
    for task in _tasks(spec):
        if isinstance(task.data, PluginData):
            splits: list[Split | Literal["train"]] = ["train"] if task.train else []
            for split in (*splits, *task.evaluation):
                load_examples(task, split)


def _check_module(spec: Spec, added: Collection[str]) -> None:
    from harness.pretraining.module import MODULES
    from harness.pretraining.module_check import check_module

    run = Pretrain.model_validate(spec["pretrain"])
    with _named(f"the module {run.module!r}", MODULES[str(run.module)]):
        check_module(run)


@contextmanager
def _named(what: str, member: Any) -> Iterator[None]:
    """Names the member in errors of the code that calls it, such as of a loss that is None."""
    try:
        yield
    except Exception as error:  # whatever follows from the code of others
        if isinstance(error, MemberError) or error_line(error):
            raise
        problem = " ".join(str(error).split())
        message = f"{what} fails on made-up data: {type(error).__name__}: {problem}"
        raise MemberError(message, member) from error
