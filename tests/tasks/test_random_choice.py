"""The chance level of multiple choice on one's own files."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.tasks.custom import CustomSuite
from harness.tasks.file_checks import check_files
from harness.tasks.load_examples import load_examples
from harness.tasks.task import Task


def suite_of(folder: Path, counts: list[Any], data: dict[str, Any], **fields: Any) -> Task:
    """A task whose training rows have five choices, and whose dev rows have `counts`."""
    for name, numbers in (("train", [5, 5]), ("dev", counts)):
        rows = [
            {"text": "a", "choices": list("abcde"[:n]) if n else n, "label": 0} for n in numbers
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    files = {"train": f"{folder}/train.jsonl", "validation": f"{folder}/dev.jsonl"}
    if "holdout_fraction" in data:
        del files["validation"]
    task = {
        "name": "mine",
        "kind": "multiple_choice",
        "data": {"source": "jsonl", "files": files, **data},
        "text_fields": ["text"],
        "choices_field": "choices",
        "metrics": ["accuracy"],
    }
    (found,) = CustomSuite.model_validate({"name": "mine-v1", "tasks": [task | fields]}).tasks
    assert isinstance(found, Task)
    return found


@pytest.mark.parametrize(
    ("counts", "data", "fields", "chance"),
    [
        ([4, 4, 4], {}, {}, 0.25),
        ([2, 4], {}, {}, 0.375),
        ([4, 4], {"holdout_fraction": 0.5}, {}, 0.2),
        ([4, 4], {}, {"chance": 0.3}, 0.3),
        ([4, 4], {}, {"chance": None}, None),
        ([4, 4], {}, {"choices_field": "options"}, None),
        ([2, None], {}, {}, None),
    ],
)
def test_chance_is_that_of_a_random_choice(
    counts: list[Any], data: dict[str, Any], fields: dict[str, Any], chance: float, tmp_path: Path
) -> None:
    assert suite_of(tmp_path, counts, data, **fields).chance == chance


def test_blank_lines_are_no_rows(tmp_path: Path) -> None:
    given = suite_of(tmp_path, [4, 2], {}).model_dump(exclude={"name", "chance"})
    file = tmp_path / "dev.jsonl"
    file.write_text("\n" + file.read_text().replace("\n", "\n \r\n"))
    (found,) = CustomSuite.model_validate(
        {"name": "mine-v1", "tasks": [{"name": "mine", **given}]}
    ).tasks
    assert isinstance(found, Task) and found.chance == 0.375
    check_files(found)
    assert len(load_examples(found, found.evaluation[0])) == 2


def test_chance_is_not_in_the_content_of_a_task(tmp_path: Path) -> None:
    given = suite_of(tmp_path, [4], {}, chance=None)
    assert suite_of(tmp_path, [4], {}).content == given.content
