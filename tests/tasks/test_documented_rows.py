"""The rows in docs/tasks.md are those of the tasks beside them."""

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from harness.plan.factory import load_plan
from harness.tasks.load_examples import load_examples
from tests.paths import ROOT

SECTION = (ROOT / "docs/tasks.md").read_text().partition("### Rows of each kind")[2]
PAIR = re.compile(r"((?:^ {4}\{.*\n)+)\n((?:^ {4}\w.*\n)(?:^ {5,}.*\n)+)", re.MULTILINE)
DOCUMENTED = {
    name: (rows, fields)
    for rows, fields in PAIR.findall(SECTION)
    for name in yaml.safe_load(dedent(fields))
}
"""Name of a task to its rows and its entry in `evaluate.tasks`."""


def test_each_kind_of_file_has_rows() -> None:
    assert list(DOCUMENTED) == [
        *("reviews", "inference", "senses", "alike", "animals", "names", "questions"),
        *("summaries", "pairs", "pages"),
    ]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_rows_are_a_task(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, fields = map(dedent, DOCUMENTED[name])
    Path("train.jsonl").write_text(text * 8)
    Path("dev.jsonl").write_text(text)
    content: dict[str, Any] = {
        "name": "own",
        "question": "Are the documented rows a task?",
        "pretrain": {
            "recipe": "t5",
            "size": "nano",
            "corpus": "microworld",
            "budget": {"steps": 9},
        },
        "evaluate": {"tasks": yaml.safe_load(fields)},
    }
    if name == "summaries":
        content["evaluate"]["protocol"] = {"answer": "text"}
    Path("own.yaml").write_text(yaml.safe_dump(content))
    plan = load_plan(Path("own.yaml"))
    assert plan.stages
    (task,) = plan.experiment.evaluate.chosen.values()
    times = 8 if task.train else 1
    examples = load_examples(task, "train" if task.train else task.evaluation[0])
    assert len(examples) == times * len(text.splitlines())
    assert set(task.text_fields) < json.loads(text.splitlines()[0]).keys()
