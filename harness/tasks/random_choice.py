"""The chance level of the user's own multiple-choice tasks."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from harness.core.files import file_exists, user_path
from harness.tasks.data_files import first_rows
from harness.tasks.task import HOLDOUT_SPLIT

SAMPLE = 10_000
"""Rows from which chance is computed."""


def with_random_choice(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a task; of multiple choice on a local file, with the accuracy of a random
    choice, the mean of 1 / number of choices, unless `chance` is given.

    Files that do not match the task are left to the checks of its rows.
    """
    fields = dict(fields)
    if fields.get("kind") != "multiple_choice" or "chance" in fields:
        return fields
    try:
        counts = [len(choices) for choices in _choices(fields)]
        return {**fields, "chance": round(fmean(1 / count for count in counts), 4)}
    except (ValueError, TypeError, AttributeError, LookupError, ZeroDivisionError):
        return fields


def _choices(fields: Mapping[str, Any]) -> list[Any]:
    """The choices of the first rows of the first split that is scored."""
    data = fields["data"]
    split = (fields.get("evaluation") or [{"name": HOLDOUT_SPLIT}])[0]
    name = split.get("of") or split["name"]
    is_held_out = name not in data["files"] and data.get("holdout_fraction")
    path = user_path(data["files"]["train" if is_held_out else name])
    if fields.get("prepare") or split.get("where") or not file_exists(path):
        return []
    return list(first_rows(path, data["source"], SAMPLE)[fields["choices_field"]])
