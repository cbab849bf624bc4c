"""Tasks of one's own on data of the micro-world: wrong names are found while planning."""

from pathlib import Path

import pytest

from harness.experiment.source import DeclarationError
from harness.plan.factory import load_plan
from harness.tasks.file_checks import check_files
from harness.tasks.micro import MICRO_TASKS
from harness.tasks.task import Task

FILE = """name: study
question: Which is better?
pretrain: {size: nano, budget: {tokens: 1_000}}
evaluate:
  tasks:
    own:
      kind: classification
      data: {source: microworld, generator: sentiment}
      text_fields: [sentence1]
      labels: [negative, positive]
      metrics: [accuracy]
"""


@pytest.mark.parametrize(
    ("right", "wrong", "line", "message"),
    [
        ("generator: sentiment", "generator: sentimnt", 8, "did you mean 'sentiment'?"),
        (
            "[sentence1]",
            "[sentence2]",
            9,
            "needs the column 'sentence2', but its examples have sentence1, label",
        ),
        ("kind:", "train: test\n      kind:", 7, "split must be one of train, validation"),
    ],
)
def test_wrong_names_have_their_line(
    tmp_path: Path, right: str, wrong: str, line: int, message: str
) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(FILE.replace(right, wrong))
    with pytest.raises(DeclarationError) as error:
        load_plan(path)
    assert f"{path}:{line}: own: " in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize("task", MICRO_TASKS, ids=lambda task: task.name)
def test_shipped_tasks_have_their_columns(task: Task) -> None:
    check_files(task)


def test_a_share_of_counterexamples_is_of_one_generator(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(FILE.replace("sentiment}", "sentiment, counterexamples: 0.3}"))
    with pytest.raises(DeclarationError, match="counterexamples needs the generator overlap, but"):
        load_plan(path)
