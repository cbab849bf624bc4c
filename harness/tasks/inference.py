"""A task completed from its files: the format, the dev split, and what its columns determine.

Columns are recognised by their names, otherwise by their content. More than one possibility is an
error that names them. A field that is given is never changed.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from harness.core.files import user_path
from harness.tasks.column_roles import Rows, label_column, text_columns
from harness.tasks.data_files import evaluation_file, format_of, header
from harness.tasks.file_rows import column_of, listed, read_rows
from harness.tasks.labels import class_name
from harness.tasks.loaders import DATASETS
from harness.tasks.tag_inference import with_tag_columns, with_tags
from harness.tasks.task import HOLDOUT_SPLIT, Split

REQUIRED = ("kind", "text_fields", "metrics")
"""Fields without a default: a task that lacks one is inferred."""
INFERRED_KINDS = ("classification", "regression", "tagging")
HOLDOUT_FRACTION = 0.2
MIN_EXAMPLES, MIN_HOLDOUT_EXAMPLES = 8, 10
"""Fewest training examples, and fewest examples of an inferred dev set."""
MAX_CLASSES = 100
MAX_MAJORITY = 0.75
"""Largest share of a class at which accuracy is the first metric; else it is macro F1."""
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
SCORE_NAMES = ("score", "similarity", "relatedness")
"""Names of columns whose whole numbers are values and not classes."""


def inferred(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a task on local files, with those that the files determine.

    Args:
        fields: fields of `Task` as plain data; `data` may be the name of a data set of a plug-in,
            for which nothing is inferred, or the path of a train file, and its `source` and dev
            split may be absent.

    Raises:
        ValueError: the files do not determine a field, or cannot be used. The message does not
            repeat the name of the task.
    """
    data = fields.get("data")
    if isinstance(data, str) and data in DATASETS:
        return {**fields, "data": {"source": "plugin", "name": data}}
    if isinstance(data, str):
        data = {"files": {"train": data}}
    if not isinstance(data, Mapping) or not isinstance(data.get("files"), Mapping):
        return dict(fields)
    files = data["files"]
    fraction = data.get("holdout_fraction")
    if fraction is not None and not (isinstance(fraction, float) and 0 < fraction < 1):
        raise ValueError(f"data.holdout_fraction must be between 0 and 1, but is {fraction!r}")
    is_complete = "source" in data and all(name in fields for name in REQUIRED)
    is_trained = fields.get("train", "train") == "train" and "train" in files
    if is_complete or not is_trained or not all(isinstance(one, str) for one in files.values()):
        return dict(fields)
    fields = {**fields, "data": {"source": format_of(files["train"]), **data}}
    if fields.get("kind", INFERRED_KINDS[0]) not in INFERRED_KINDS:
        return fields
    return _completed(fields)


def _completed(fields: dict[str, Any]) -> dict[str, Any]:
    source, files = fields["data"]["source"], fields["data"]["files"]
    rows = {"train": read_rows(source, files["train"])}
    is_tagging = fields.get("kind") == "tagging"
    fields = _with_columns(fields, rows["train"])
    fields, split = _with_dev_split(fields)
    if split and split in fields["data"]["files"]:
        rows[split] = read_rows(source, fields["data"]["files"][split])
    if is_tagging:
        words = column_of(rows["train"], fields["text_fields"][0], "train")
        return with_tags({"train_size": _train_size(len(words), fields["data"]), **fields}, rows)
    _check_texts(fields, rows)
    labels = {name: _labels(columns, fields, name) for name, columns in rows.items()}
    train_size = _train_size(len(labels["train"]), fields["data"])
    fields = {"kind": _kind(labels["train"], fields), "train_size": train_size, **fields}
    if fields["kind"] == "classification":
        return _with_classes(fields, labels, split)
    for value in (value for column in labels.values() for value in column):
        if isinstance(value, str):
            raise ValueError(
                f"regression needs numbers in {fields['label_field']!r}, but one is {value!r}"
            )
    return {"metrics": ["spearman", "pearson"], "chance": 0.0, **fields}


def _with_columns(fields: Mapping[str, Any], train: Rows) -> dict[str, Any]:
    texts = fields.get("text_fields", [])
    if not isinstance(texts, list) or not all(isinstance(name, str) for name in texts):
        raise ValueError(f"text_fields must be a list of columns, but is {texts!r}")
    if fields.get("kind") == "tagging":
        return with_tag_columns(fields, train)
    used = [name for name in (*texts, fields.get("group_field")) if name]
    label = fields.get("label_field") or label_column(train, used)
    return {
        "text_fields": texts or text_columns(train, [label, *used]),
        **fields,
        "label_field": label,
    }


def _with_classes(
    fields: dict[str, Any], labels: Mapping[str, Sequence[Any]], split: str | None
) -> dict[str, Any]:
    """Adds the names of the classes, the metrics and what a constant prediction scores."""
    names = {name: [class_name(value) for value in column] for name, column in labels.items()}
    if "labels" not in fields:
        fields = {**fields, "labels": _classes(labels["train"], fields["label_field"])}
        _check_classes(fields, names)
    metrics = ["accuracy", "macro_f1"]  # by the train labels: the first selects settings
    if _majority(names["train"]) > MAX_MAJORITY:
        metrics.reverse()
    fields = {"metrics": metrics, **fields}
    level = round(_majority(names.get(split or "", names["train"])), 4)
    chance = {"chance": level} if fields["metrics"][0] == "accuracy" else {}
    return {**chance, **fields}


def _majority(names: Sequence[str]) -> float:
    """The share of the most frequent class."""
    return max(Counter(names).values()) / len(names)


def _check_classes(fields: Mapping[str, Any], names: Mapping[str, Sequence[str]]) -> None:
    spellings: dict[str, str] = {}
    for name in fields["labels"]:
        other = spellings.setdefault(" ".join(name.casefold().split()), name)
        if other != name:
            raise ValueError(
                f"classes must differ in more than case and spaces, but {fields['label_field']!r} "
                f"has {other!r} and {name!r}; correct the file, or set labels to list all classes"
            )
    for split, column in names.items():
        if missing := sorted(set(column) - set(fields["labels"])):
            raise ValueError(
                f"the labels of {split} must be in the train file, too, but {listed(missing)} of "
                f"{fields['label_field']!r} is not: train has {listed(fields['labels'])}; set "
                f"labels to list all classes"
            )


def _with_dev_split(fields: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Adds the dev split: a file that is given or lies beside the train file, else a hold-out.

    Returns:
        The fields, and the name of the split; null if the task lists its own ones.
    """
    data = fields["data"]
    if "evaluation" in fields:
        return fields, None
    if HOLDOUT_SPLIT in data["files"]:
        return fields, HOLDOUT_SPLIT
    split, file = evaluation_file(data["files"]["train"]) or (HOLDOUT_SPLIT, None)
    # A test set may be published without labels.
    if file and split != HOLDOUT_SPLIT:
        columns = header(user_path(file), data["source"])
        file = file if fields["label_field"] in columns else None
    if file is None or "holdout_fraction" in data:
        data = {"holdout_fraction": HOLDOUT_FRACTION, **data}
        return {**fields, "data": data}, HOLDOUT_SPLIT
    data = {**data, "files": {**data["files"], split: file}}
    return {**fields, "data": data, "evaluation": [Split(name=split).model_dump()]}, split


def _check_texts(fields: Mapping[str, Any], files: Mapping[str, Rows]) -> None:
    for split, rows in files.items():
        for field in (field for field in fields["text_fields"] if "{" not in field):
            for row, text in enumerate(column_of(rows, field, split), start=1):
                if not isinstance(text, str) or not text.strip():
                    given = "is empty" if text is None or text == "" else f"has {text!r}"
                    raise ValueError(
                        f"every row needs text in {field!r}, but row {row} of {split} {given}"
                    )


def _labels(rows: Rows, fields: Mapping[str, Any], split: str) -> list[Any]:
    """The labels of one file: all numbers, or all text."""
    field = fields["label_field"]
    column = list(column_of(rows, field, split))
    for row, value in enumerate(column, start=1):
        if value is None or value == "":
            raise ValueError(
                f"every row needs a label in {field!r}, but row {row} of {split} has none"
            )
        if not isinstance(value, str | int | float):
            raise ValueError(f"a label must be text or a number, but {field!r} has {value!r:.40}")
    numbers = [_is_number(value) for value in column]
    if any(numbers) and not all(numbers) and "labels" not in fields:
        one, other = column[numbers.index(True)], column[numbers.index(False)]
        raise ValueError(
            f"the labels must be all numbers or all text, but {field!r} has {one!r} and {other!r}; "
            f"correct the file, or set labels to list all classes"
        )
    return column


def _is_number(value: Any) -> bool:
    try:
        return bool(float(value) == float(value))
    except ValueError:
        return False


def _kind(labels: Sequence[Any], fields: Mapping[str, Any]) -> str:
    """Fractions, and whole numbers named as scores, are values unless labels name classes; all else
    are classes."""
    field, distinct = fields["label_field"], set(labels)
    if len(distinct) == 1:
        raise ValueError(
            f"at least two different labels are needed, but {field!r} has only {labels[0]!r}"
        )
    if "kind" in fields:
        return str(fields["kind"])
    if "labels" in fields:
        return "classification"
    if all(_DECIMAL_COMMA.fullmatch(str(value)) for value in distinct):
        raise ValueError(
            f"numbers must have a decimal point, but {field!r} has {labels[0]!r}; correct the "
            f"file, or set kind to classification if these are names of classes"
        )
    has_fractions = any(isinstance(value, float) and not value.is_integer() for value in distinct)
    is_score = field.lower() in SCORE_NAMES and all(type(value) in (int, float) for value in labels)
    if len(distinct) > 2 and (is_score or has_fractions):
        return "regression"
    if has_fractions:
        raise ValueError(
            f"{field!r} has two fractions, which may be classes or values; set kind to regression, "
            f"or name the classes in the file"
        )
    return "classification"


def _classes(labels: Sequence[Any], field: str) -> list[str]:
    """Names of the classes: numbers in their order, text in alphabetical order."""
    distinct = sorted(set(labels))
    repeated = len(labels) - len(distinct)
    if not repeated or len(distinct) > MAX_CLASSES:
        found = "all are different" if not repeated else f"there are {len(distinct)}"
        raise ValueError(
            f"the labels must be at most {MAX_CLASSES} classes that recur, but of the "
            f"{len(labels)} values of {field!r} {found}; set label_field to another column, kind "
            f"to regression, or labels to list all classes"
        )
    return [class_name(value) for value in distinct]


def _train_size(num_rows: int, data: Mapping[str, Any]) -> int:
    """Number of training examples of a train file, if there are enough."""
    fraction = data.get("holdout_fraction")
    needed = math.ceil(MIN_HOLDOUT_EXAMPLES / fraction) if fraction else MIN_EXAMPLES
    if num_rows < needed:
        why = f" to hold out {fraction:.0%} of them" if fraction else ""
        hint = "; add examples, or a dev file as data.files.validation" if fraction else ""
        raise ValueError(
            f"needs at least {needed} examples{why}, but {data['files']['train']} has "
            f"{num_rows}{hint}"
        )
    return round(num_rows * (1 - (fraction or 0)))
