"""What plug-ins may add to each registry, and the check that they do."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter, ValidationError

from harness.core.config import unknown_name
from harness.core.names import check_metric_part

FORMS = {
    "TRANSFORMS": "a function (settings, rows, rng, vocabulary), by its subclass of Transform",
    "COMBINATIONS": "(output, (representation, ...), (transform, ...))",
    "OBJECTIVES": "an Objective or a Mixture",
    "RECIPES": "a Pretrain",
    "MODULES": "a subclass of PretrainingModule",
    "CALLBACKS": "a class or function without arguments that makes a Lightning callback",
    "LOGGERS": "a function from a LogTarget to a Lightning logger",
    "MODELS": "an Architecture",
    "SIZES": "a Size",
    "CORPORA": "a corpus, such as TextCorpus",
    "TOKENIZERS": "a Tokenizer",
    "TASKS": "a Task",
    "SUITES": "a Suite",
    "PREPROCESSORS": "a function from the columns of a split to its columns",
    "DATASETS": "a function from the name of a split to its examples or columns",
    "PROBES": "a Probe",
    "METRICS": "a Metric",
    "METRICS_OF_KIND": "a tuple of names of metrics, by a kind of task",
}
"""Registry to what a member must be."""

_LOOSE = ConfigDict(arbitrary_types_allowed=True)


def check_members(
    plugin: str, homes: Mapping[str, ModuleType], members: Mapping[str, Iterable[Any]]
) -> None:
    """Checks all members of a plug-in against the annotations of their registries.

    Args:
        plugin: its name.
        homes: registry to the module that holds it.
        members: registry to the dict or list of the plug-in.

    Raises:
        ValueError: a member has another form, or a name that is taken or unknown.
    """
    for registry, added in members.items():
        where, known = f"{plugin}.{registry}", getattr(homes[registry], registry)
        if not isinstance(added, type(known)):
            kind = type(known).__name__
            raise ValueError(f"{where} must be a {kind}, but is a {type(added).__name__}")
        _check_names(where, registry, known, added)
        if registry == "COMBINATIONS":
            _check_rows(where, added)
        annotation = homes[registry].__annotations__[registry]
        for number, member in enumerate(added):
            one = {member: added[member]} if isinstance(added, dict) else [member]
            if (problem := _wrong_form(annotation, one)) is not None:
                place = member if isinstance(added, dict) else number
                given = added[member] if isinstance(added, dict) else member
                raise ValueError(
                    f"{where}[{place!r}] must be {FORMS[registry]}, but is {given!r}{problem}"
                )
    _check_transforms(plugin, members)
    _check_metrics(plugin, members)
    _check_suites(plugin, members)


def member_names(registry: str, added: Iterable[Any]) -> frozenset[str]:
    """The names of the members of a registry; of transforms, their kinds."""
    if registry == "TRANSFORMS":
        return frozenset(filter(None, map(_kind, added)))
    return frozenset(member for member in added if isinstance(member, str))


def _check_names(where: str, registry: str, known: Any, added: Any) -> None:
    for member in added if isinstance(known, dict) else ():
        if registry == "METRICS_OF_KIND" and member not in known:
            raise ValueError(f"{where}: {unknown_name('the kind of task', member, known)}")
        if registry != "METRICS_OF_KIND" and member in known:
            raise ValueError(f"{where}: {member!r} is the name of another member")
        if (own := getattr(added[member], "name", member)) != member and isinstance(own, str):
            raise ValueError(f"{where}: {member!r} must be its name, which is {own!r}")
        if registry == "METRICS" and isinstance(member, str):
            _check_metric_name(where, member)


def _check_metric_name(where: str, name: str) -> None:
    try:
        check_metric_part(name)
    except ValueError as error:
        raise ValueError(f"{where}[{name!r}] {error}") from None


def _check_rows(where: str, rows: Iterable[Any]) -> None:
    """Checks the names of outputs and representations in rows of COMBINATIONS."""
    from harness.pretraining.objectives.objective import Representation
    from harness.pretraining.objectives.outputs import OutputKind

    for number, row in enumerate(rows):
        if not isinstance(row, tuple) or len(row) != 3 or not isinstance(row[1], tuple):
            continue  # its form is checked next
        given = [("output", row[0], OutputKind)]
        given += [("representation", name, Representation) for name in row[1]]
        for what, name, literal in given:
            if name not in get_args(literal):
                message = unknown_name(f"the {what}", name, get_args(literal))
                raise ValueError(f"{where}[{number}]: {message}")


def _wrong_form(annotation: Any, member: Any) -> str | None:
    """What is wrong inside a dict or list of one member; null if nothing is."""
    try:
        read = TypeAdapter(annotation, config=_LOOSE).validate_python(member, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"[{part}]" for part in first["loc"][1:] if isinstance(part, int))
        return f": {first['msg'].replace('Input', f'its {place}', 1)}" if place else ""
    if read != member:  # made from plain data
        return ""
    value = get_args(annotation)[-1]
    if isinstance(member, dict) and get_origin(value) is get_origin(Callable[[], None]):
        (function,) = member.values()
        return _wrong_arguments(function, get_args(value)[0])
    return None


def _wrong_arguments(function: Callable[..., Any], arguments: Any) -> str | None:
    try:
        signature = inspect.signature(function)
    except ValueError:  # of a builtin
        return None
    try:
        signature.bind(*arguments)
    except TypeError as error:
        return f": called with {len(arguments)} arguments, {error}"
    return None


def _check_transforms(plugin: str, members: Mapping[str, Any]) -> None:
    """Checks that each new transform has a kind of its own and a row of COMBINATIONS, and that
    rows name transforms."""
    from harness.pretraining.objectives.objective import COMBINATIONS
    from harness.pretraining.objectives.transforms import TRANSFORMS

    kinds = {_kind(settings) or "" for settings in TRANSFORMS}
    new = list(members.get("TRANSFORMS", ()))
    for settings in new:
        where, kind = f"{plugin}.TRANSFORMS[{settings.__name__}]", _kind(settings)
        if kind is None:
            raise ValueError(
                f'{where} must have a field kind: Literal["name"] = "name", with its own name'
            )
        if kind in kinds:
            raise ValueError(f"{where}: {kind!r} is the kind of another transform")
        kinds.add(kind)
    rows = members.get("COMBINATIONS", [])
    for number, (_, _, transforms) in enumerate(rows):
        for name in transforms:
            if name not in kinds:
                message = unknown_name("the transform", name, sorted(kinds))
                raise ValueError(f"{plugin}.COMBINATIONS[{number}]: {message}")
    used = {name for *_, transforms in [*COMBINATIONS, *rows] for name in transforms}
    for kind in map(_kind, new):
        if kind not in used:
            raise ValueError(
                f"{plugin}.COMBINATIONS must have a row that names the transform {kind!r}, in the "
                f"form {FORMS['COMBINATIONS']}"
            )


def _kind(settings: Any) -> str | None:
    """The kind of a transform; null if it is not declared as a literal with its default."""
    field = settings.model_fields.get("kind")
    if field is None or get_origin(field.annotation) is not Literal:
        return None
    return field.default if get_args(field.annotation) == (field.default,) else None


def _check_metrics(plugin: str, members: Mapping[str, Any]) -> None:
    """Checks that METRICS_OF_KIND and TASKS name metrics, preprocessors and data sets."""
    if not members.keys() & {"METRICS_OF_KIND", "TASKS"}:
        return
    from harness.tasks.loaders import DATASETS
    from harness.tasks.metrics import METRICS
    from harness.tasks.preprocessing import PREPROCESSORS
    from harness.tasks.task import PluginData

    metrics = {**METRICS, **members.get("METRICS", {})}
    functions = {**PREPROCESSORS, **members.get("PREPROCESSORS", {})}
    loaders = {**DATASETS, **members.get("DATASETS", {})}
    named = [
        (f"METRICS_OF_KIND[{kind!r}]", "the metric", name, metrics)
        for kind, names in members.get("METRICS_OF_KIND", {}).items()
        for name in names
    ]
    for key, task in members.get("TASKS", {}).items():
        where = f"TASKS[{key!r}]"
        named += [(where, "the metric", name, metrics) for name in task.metrics]
        named += [(where, "the preprocessor", task.prepare, functions)] if task.prepare else []
        if isinstance(task.data, PluginData):
            named.append((where, "the data set", task.data.name, loaders))
    for where, what, name, known in named:
        if name not in known:
            raise ValueError(f"{plugin}.{where}: {unknown_name(what, name, known)}")
    for key, task in members.get("TASKS", {}).items():
        _check_scores(f"{plugin}.TASKS[{key!r}]", task)


def _check_scores(where: str, task: Any) -> None:
    """Checks that shipped metrics can score a task; those of plug-ins are tried with a plan."""
    from harness.tasks.metrics import METRICS
    from harness.tasks.metrics.check import check_metric

    for name in filter(METRICS.__contains__, task.metrics):
        try:
            check_metric(METRICS[name], task)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            problem = f"the metric {name!r} cannot score tasks of kind {task.kind}"
            raise ValueError(f"{where}: {problem}; choose another") from error


def _check_suites(plugin: str, members: Mapping[str, Any]) -> None:
    """Checks that the columns of SUITES have names of their own, and scores of known tasks."""
    from harness.tasks import TASKS

    known = {**TASKS, **members.get("TASKS", {})}
    for key, suite in members.get("SUITES", {}).items():
        where = f"{plugin}.SUITES[{key!r}]"
        names = [column.name for column in suite.columns]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"{where} must have columns with different names, but has {names}")
        for column in suite.columns:
            if column.task not in known:
                raise ValueError(f"{where}: {unknown_name('the task', column.task, known)}")
            task = known[column.task]
            splits = [split.name for split in task.evaluation]
            if column.split not in splits:
                raise ValueError(f"{where}: {unknown_name('the split', column.split, splits)}")
            for metric in column.metrics:
                if metric not in task.metrics:
                    what = f"of {task.name} the metric"
                    raise ValueError(f"{where}: {unknown_name(what, metric, task.metrics)}")
