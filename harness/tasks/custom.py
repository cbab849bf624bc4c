"""Tasks and suites declared by an experiment, and the lookup of all tasks and suites by name."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Discriminator, Tag, field_validator

from harness.core.config import ConfigModel, as_tuples, unknown_name
from harness.core.names import SuiteName, lookalike
from harness.tasks import SUITES, TASKS, loaders
from harness.tasks.declared_names import (
    check_names,
    check_read,
    check_scored_splits,
    check_tags_of_spans,
)
from harness.tasks.inference import inferred
from harness.tasks.marked_words import check_marked_words
from harness.tasks.preprocessing import PREPROCESSORS
from harness.tasks.prompt_checks import check_prompt
from harness.tasks.random_choice import with_random_choice
from harness.tasks.task import (
    COMPARED,
    HOLDOUT_SPLIT,
    Column,
    FileData,
    Kind,
    PluginData,
    Split,
    Suite,
    Task,
)

MAX_TASKS = 1_000
"""Tasks of a suite."""
COREFERENCE = ("coref_f1", "muc", "b_cubed", "ceaf_e")
METRICS_OF_KIND: dict[Kind, tuple[str, ...]] = {
    "classification": ("accuracy", "f1", "macro_f1", "micro_f1", "matthews"),
    "regression": ("pearson", "spearman"),
    "multiple_choice": ("accuracy",),
    "extraction": ("exact_match", "token_f1"),
    "tagging": ("entity_f1", "entity_f1_strict", "argument_f1", "accuracy_tags", *COREFERENCE),
    "coreference": COREFERENCE,
    "similarity": ("pearson", "spearman"),
    "retrieval": (),
    "generation": (
        *("exact_match", "token_f1", "rouge1", "rouge2", "rougeL", "rougeLsum"),
        *("bleu", "bleu_intl", "bleu_smoothed"),
    ),
}
"""Kind of task to its metrics. METRICS itself is not imported here, to keep planning fast."""
GROUPED: Mapping[Kind, tuple[str, ...]] = {
    "classification": ("f1_answers", "exact_match_groups", "parity"),
    "similarity": ("spearman_mean_of_groups", "ndcg_at_10", "mrr", "recall_at_5"),
    "retrieval": ("ndcg_at_10", "mrr", "recall_at_5"),
}
"""Kind of task to the metrics that need a `group_field`."""
NUM_TEXTS: Mapping[Kind, tuple[int, ...]] = {
    "extraction": (2,),
    "tagging": (1,),
    "coreference": (1,),
    "similarity": (2,),
    "retrieval": (2,),
}
"""Kind of task to the allowed numbers of text fields; one or two for the others."""
LISTS: Mapping[Kind, str] = {
    "multiple_choice": "choices",
    "extraction": "answers",
    "tagging": "words and tags",
    "coreference": "sentences and mentions",
}
"""Kind of task to its columns that contain lists."""


def fitting_metrics(task: Task) -> tuple[str, ...]:
    """The metrics that apply to a task."""
    return METRICS_OF_KIND[task.kind] + (GROUPED.get(task.kind, ()) if task.has_groups else ())


def _checked(task: Task) -> Task:
    """`task`, if its fields are consistent."""
    if task.name in TASKS:
        raise ValueError(
            f"{task.name!r} is the name of a shipped task; choose another, or give the name alone"
        )
    if task.kind == "retrieval" and not task.group_field:
        raise ValueError(
            f"{task.name!r} is retrieval, so it needs a group_field: the query of each row"
        )
    for metric in task.metrics:
        if metric not in fitting_metrics(task):
            what = f"for {task.kind}{'' if task.has_groups else ' without groups'} the metric"
            raise ValueError(unknown_name(what, metric, fitting_metrics(task)))
    _check_groups(task)
    check_names(task)
    check_read(task)
    check_scored_splits(task)
    check_tags_of_spans(task)
    check_prompt(task)
    check_marked_words(task)
    if task.kind in ("classification", "tagging") and len(task.labels) < 2:
        raise ValueError(f"{task.name!r} is {task.kind}, so it needs labels, two or more names")
    if task.kind == "multiple_choice" and not task.choices_field:
        raise ValueError(f"{task.name!r} is multiple_choice, so it needs a choices_field")
    texts = NUM_TEXTS.get(task.kind, (1, 2))
    if len(task.text_fields) not in texts:
        allowed = " or ".join(map(str, texts))
        raise ValueError(
            f"{task.kind} needs {allowed} text_fields, but {task.name!r} has "
            f"{len(task.text_fields)}"
        )
    if task.symmetric and len(task.text_fields) != 2:
        raise ValueError(
            f"symmetric: true needs two text_fields, but {task.name!r} has {len(task.text_fields)}"
        )
    if task.kind in COMPARED and task.train:
        raise ValueError(f"{task.kind} has no training; set train to null")
    if task.prepare and task.prepare not in PREPROCESSORS:
        raise ValueError(unknown_name("the preprocessor", task.prepare, PREPROCESSORS))
    if isinstance(task.data, FileData):
        _check_files(task, task.data)
    if isinstance(task.data, PluginData):
        loaders.check_name(task.data.name)
    return task


def _check_groups(task: Task) -> None:
    """Checks groups of single splits."""
    main = task.metrics[0]
    if main in GROUPED.get(task.kind, ()) and not task.group_field:
        raise ValueError(
            f"the first metric of {task.name!r} is {main}, so all its splits need groups: give the "
            "task a group_field, or another metric first"
        )
    for split in task.evaluation:
        if split.group_field and split.group_field == task.group_field:
            raise ValueError(
                f"the group_field of the split {split.name} of {task.name!r} must differ from that "
                f"of the task, but both are {split.group_field!r}; leave it out"
            )


def all_splits(task: Task) -> tuple[Split, ...]:
    """The splits that are trained on, scored or predicted."""
    train = (Split(name=task.train),) if task.train else ()
    return (*train, *task.evaluation, *task.test)


def _check_files(task: Task, data: FileData) -> None:
    if data.source in ("csv", "tsv") and task.kind in LISTS:
        raise ValueError(
            f"{task.name!r} is {task.kind}, and {data.source} cannot represent lists of "
            f"{LISTS[task.kind]}: use jsonl"
        )
    for split in all_splits(task):
        name = split.of or split.name
        if name not in data.files and not (data.holdout_fraction and name == HOLDOUT_SPLIT):
            hint = "; or set holdout_fraction" if name == HOLDOUT_SPLIT else ""
            raise ValueError(
                f"files must have a path for the split {name} of {task.name!r}, but has "
                f"{', '.join(data.files) or 'none'}{hint}"
            )
    read = {split.of or split.name for split in all_splits(task)}
    if unread := [name for name in data.files if name not in read]:
        raise ValueError(
            f"files of {task.name!r} has a path for {', '.join(unread)}, which no split reads; "
            f"rename the dev set to {HOLDOUT_SPLIT}, list what is scored in evaluation, such as "
            f"[{{name: {unread[0]}}}], or remove the path"
        )
    if data.holdout_fraction and HOLDOUT_SPLIT in data.files:
        raise ValueError(
            f"holdout_fraction draws the split {HOLDOUT_SPLIT} of {task.name!r} from train, but "
            f"files has a path for it, too; remove one of them"
        )


def _is_name(value: Any) -> str:
    return "shipped" if isinstance(value, str) else "own"


def _inferred(fields: Any) -> Any:
    if not isinstance(fields, Mapping):
        return fields
    try:
        return as_tuples(with_random_choice(inferred(fields)))
    except ValueError as error:
        raise ValueError(f"{fields.get('name', 'the task')}: {error}") from error


SuiteTask = Annotated[
    Annotated[str, Tag("shipped")]
    | Annotated[Task, BeforeValidator(_inferred), AfterValidator(_checked), Tag("own")],
    Discriminator(_is_name),
]
"""A name in `harness list tasks`, or the fields of a task."""


class CustomSuite(ConfigModel):
    """A suite declared by an experiment, with a column for each split of each task.

    A column shows the first metric of its task; the average is the mean of the columns. Paths of
    files are relative to the working folder.
    """

    name: SuiteName
    """Name with a version, as `reviews-v1`; raise the version when the tasks change."""
    tasks: tuple[SuiteTask, ...]
    """Names of shipped tasks, or the fields of new ones."""

    def __hash__(self) -> int:  # a task may hold mappings
        return hash(self.model_dump_json())

    @field_validator("name")
    @classmethod
    def _new(cls, name: str) -> str:
        if name in SUITES:
            raise ValueError(f"must differ from the names of shipped suites, but is {name!r}")
        return name

    @field_validator("tasks")
    @classmethod
    def _known(cls, tasks: tuple[SuiteTask, ...]) -> tuple[SuiteTask, ...]:
        if not tasks:  # min_length would count valid tasks only
            raise ValueError("must have at least one task, but has none")
        if len(tasks) > MAX_TASKS:
            raise ValueError(f"must have at most {MAX_TASKS:,} tasks, but has {len(tasks):,}")
        names = [task if isinstance(task, str) else task.name for task in tasks]
        for number, (name, task) in enumerate(zip(names, tasks, strict=True)):
            if isinstance(task, str) and task not in TASKS:
                raise ValueError(unknown_name("the task", task, TASKS))
            if name in names[:number]:
                raise ValueError(f"the task {name!r} is listed twice")
            if twin := lookalike(name, names[:number]):
                raise ValueError(
                    f"the tasks {twin!a} and {name!a} must have names that look different"
                )
        return tasks


AnySuite = Annotated[
    Annotated[str, Tag("shipped")] | Annotated[CustomSuite, Tag("own")], Discriminator(_is_name)
]


class ResolvedSuite(Suite):
    """A suite with the tasks that an experiment declares itself."""

    own: tuple[Task, ...] = ()


def suite_named(name: str) -> Suite:
    """The shipped suite of this name.

    Raises:
        ValueError: no such suite.
    """
    if name not in SUITES:
        raise ValueError(unknown_name("the suite", name, SUITES))
    return SUITES[name]


def as_suite(suite: str | CustomSuite) -> Suite:
    """The suite of a name or of a declaration.

    Raises:
        ValueError: no such suite.
    """
    if isinstance(suite, str):
        return suite_named(suite)
    tasks = [TASKS[task] if isinstance(task, str) else task for task in suite.tasks]
    return ResolvedSuite(
        name=suite.name,
        columns=tuple(column for task in tasks for column in _columns(task)),
        citation="declared by the experiment",
        own=tuple(task for task in suite.tasks if isinstance(task, Task)),
    )


def _columns(task: Task) -> list[Column]:
    """One column a split, named for the task alone if there is only one."""
    required = [split.name for split in task.evaluation if not split.optional]
    splits = required or [split.name for split in task.evaluation]
    return [
        Column(
            name=task.name if len(splits) == 1 else f"{task.name} {split}",
            task=task.name,
            split=split,
            metrics=task.metrics[:1],
        )
        for split in splits
    ]


def tasks_of(suite: Suite) -> dict[str, Task]:
    """Name to task, for all tasks of a suite."""
    own = {task.name: task for task in suite.own} if isinstance(suite, ResolvedSuite) else {}
    return {name: own[name] if name in own else TASKS[name] for name in suite.tasks}
