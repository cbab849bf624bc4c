"""Which way of pretraining a language model is better, by how much, and how sure are we?

In Python: `harness.load("quickstart").run().leaderboard()`.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.experiment.experiment import Experiment
    from harness.study import Study

_HOMES = {
    "Study": "harness.study",
    "StagesFailedError": "harness.execution.execution_result",
    "Experiment": "harness.experiment.experiment",
    "Evaluate": "harness.experiment.evaluation",
    "Protocol": "harness.finetuning.protocol",
    "Finetune": "harness.finetuning.protocol",
    "Sweep": "harness.finetuning.search.sweep",
    "Compute": "harness.core.compute",
    "Pretrain": "harness.pretraining.recipes.pretrain",
    "Task": "harness.tasks.task",
    "Suite": "harness.tasks.task",
    "Metric": "harness.tasks.metrics.metric",
    "Transform": "harness.pretraining.objectives.transforms.transform",
    "TransformResult": "harness.pretraining.objectives.transforms.transform",
    "PretrainingModule": "harness.pretraining.module",
}
"""Public classes to their modules, which load when a class is first used: some load torch."""

__all__ = ["declare", "evaluate", "load", *_HOMES]


def load(
    path: str | Path, *overrides: str, variants: Sequence[str] = (), store: str | Path = "runs"
) -> "Study":
    """An experiment file as a study.

    Args:
        path: a file, or the name of a shipped experiment.
        overrides: `path=value`, as `--set` takes them.
        variants: names of variants that the file declares.
        store: folder of the results.

    Raises:
        ValueError: the file is wrong; every problem with its line.
    """
    from harness.study import Study

    return Study.load(path, overrides, store, variants)


def declare(
    experiment: "Mapping[str, Any] | Experiment",
    *overrides: str,
    plugins: Sequence[Any] = (),
    variants: Sequence[str] = (),
    store: str | Path = "runs",
) -> "Study":
    """An experiment declared in Python as a study.

    Args:
        experiment: the fields of an experiment file; the values may be plain data or objects of
            the classes here, such as `Protocol`. The data of a task may be a pandas data frame.
        overrides: `path=value`, as `--set` takes them.
        plugins: modules, their names, or objects with dicts named as in
            `harness.experiment.plugins.REGISTRIES`, whose members the experiment may use.
        variants: names of variants in `experiment`.
        store: folder of the results.

    Raises:
        ValueError: the experiment is wrong; every problem in a line, as for a file.
    """
    from harness.study import Study

    return Study.declare(experiment, overrides, plugins, store, variants)


def evaluate(
    model: Any,
    tokenizer: Any = None,
    suite: str = "micro-glue-v1",
    *overrides: str,
    name: str | None = None,
    seeds: int = 3,
    tasks: Sequence[str] = (),
    adaptation: str = "full",
    store: str | Path = "runs",
) -> "Study":
    """The evaluation of a model on a suite, as a study to run: `evaluate(...).run().leaderboard()`.

    Args:
        model: a model of transformers, which is saved in the store; or a folder or an id on the
            Hub, as for `harness evaluate`.
        tokenizer: its fast tokenizer; null for a folder or an id.
        suite: a name in `harness list suites`.
        overrides: `path=value`, as `--set` takes them.
        name: name of the row; null: from the name of the model.
        seeds: number of fine-tuning runs of each task.
        tasks: empty: all tasks of the suite.
        adaptation: a name in `harness list adaptations`.
        store: folder of the results.

    Raises:
        ValueError: model and tokenizer cannot be evaluated, or an argument is wrong.
    """
    from harness.experiment.checkpoint_experiment import load_evaluation
    from harness.models.checkpoints.saving import as_checkpoint
    from harness.study import Study

    checkpoint = as_checkpoint(model, tokenizer, Path(store) / "checkpoints")
    if config := getattr(model, "config", None):
        name = name or Path(config.name_or_path or config.model_type).name
    declaration = load_evaluation(
        checkpoint, suite, overrides, name=name, seeds=seeds, tasks=tasks, adaptation=adaptation
    )
    return Study(declaration, store)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'harness' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
