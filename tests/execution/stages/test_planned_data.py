"""Data that change after planning fail the stage that reads them, and nothing is recorded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.data.digests import DataChangedError
from harness.execution.stages.planned_data import planned_checkpoint, planned_items, read_train
from harness.execution.stages.pretrain import STREAMS
from harness.experiment.declaration import from_data
from harness.models.checkpoints.files import fingerprint
from harness.plan.factory import make_plan
from harness.plan.plan import Plan
from harness.tasks import TASKS, load_examples
from harness.tasks.probes import PROBES, items
from harness.tasks.task import HubData
from tests.stage_runner import StageRunner

ROWS = [f"the meal number {row} was {('bad', 'good')[row % 2]}" for row in range(60)]
STATIC = {"family": "static", "vectors": "vectors.txt"}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("\n\n".join(ROWS * 3))
    Path("other.txt").write_text("\n\n".join(ROWS))
    rows = [f"{text},{text.split()[-1]}" for text in ROWS]
    Path("train.csv").write_text("\n".join(["text,label", *rows]))
    Path("vectors.txt").write_text(f"the{' 0.1' * 8}\nmeal{' 0.2' * 8}\n")


def planned(**pretrain: Any) -> Plan:
    text = {"source": "text", "path": "text.txt"}
    common = {"recipe": "bag_of_words", "corpus": text, "tokenizer": {"vocab_size": 64}}
    evaluate = {"tasks": {"reviews": {"data": "train.csv"}}}
    experiment = {"name": "own", "question": "?", "pretrain": {**common, **pretrain}}
    return make_plan(from_data({**experiment, "evaluate": evaluate}, with_data=True))


def append(path: str, more: str = "\nmore good,good") -> Callable[[], object]:
    return lambda: Path(path).write_text(Path(path).read_text() + more)


@pytest.mark.parametrize(
    ("change", "kind", "pretrain", "data"),
    [
        (append("train.csv"), "finetune", {}, "the data of reviews"),
        (append("text.txt"), "tokenizer", {}, "the files of the corpus"),
        (append("text.txt"), "tokenize", {}, "the files of the corpus"),
        (
            append("other.txt"),
            "tokenize",
            {"held_out": {"source": "text", "path": "other.txt"}},
            "the files of the corpus",
        ),
        (
            append("vectors.txt", f"bad{' 0.3' * 8}\n"),
            "pretrain",
            {
                "recipe": "cbow",
                "model": STATIC,
                "budget": {"tokens": 0},
                "size": {"num_layers": 1, "hidden_size": 8, "num_heads": 1, "intermediate_size": 8},
            },
            "the word vectors",
        ),
    ],
)
def test_changed_files_are_refused(
    tmp_path: Path, change: Callable[[], object], kind: str, pretrain: dict[str, Any], data: str
) -> None:
    plan, runner = planned(**pretrain), StageRunner(tmp_path / "runs")
    (key,) = (key for key, stage in plan.stages.items() if stage.kind == kind)
    for parent in plan.stages[key].parents.values():
        runner.make(plan, parent)
    change()
    with pytest.raises(DataChangedError, match=f"^{data} must be as they were"):
        runner.make(plan, key)
    assert not runner.workspace.result(key).exists()
    again = planned(**pretrain)
    assert key not in again.stages
    runner.run(again)


def test_text_read_before_the_change_was_noticed_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted tokenization resumes with the documents that it has read."""
    plan, runner = planned(), StageRunner(tmp_path / "runs")
    (key,) = (key for key, stage in plan.stages.items() if stage.kind == "tokenize")
    runner.make(plan, plan.stages[key].parents["tokenizer"])
    before = Path("text.txt").read_text()

    def write_and_change(
        documents: Any, tokenizer: Path, out: Path, work: Path, report: Any
    ) -> Any:
        (work / "shard").write_text("of the changed text")
        append("text.txt")()
        return {}

    with monkeypatch.context() as patch:
        patch.setattr("harness.data.corpora.tokenization.write_split", write_and_change)
        with pytest.raises(DataChangedError):
            runner.make(plan, key)
    assert not (runner.workspace.state(key) / STREAMS).exists()
    Path("text.txt").write_text(before)
    runner.make(plan, key)


def test_a_changed_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    name = str(tmp_path)
    spec = {
        "checkpoint": {"name": name, "revision": None},
        "fingerprint": fingerprint(name, None),
    }
    with planned_checkpoint(spec) as folder:
        assert folder == tmp_path
    message = "^the files of .* must be as they were"
    with pytest.raises(DataChangedError, match=message), planned_checkpoint(spec):
        (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')


def test_changed_items_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = PROBES["blimp"]
    monkeypatch.setattr("harness.execution.stages.planned_data.load_items", lambda *_: [])
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    data = probe.data
    assert isinstance(data, HubData)
    file = tmp_path / data.path / "items.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    spec = {"fingerprint": items.fingerprint(probe)}
    assert planned_items(spec, probe) == []
    file.write_text("{ }")
    with pytest.raises(DataChangedError, match=r"^the items of blimp must be as they were"):
        planned_items(spec, probe)


def test_a_holdout_of_whole_texts_shares_none_with_train() -> None:
    task = TASKS["micro-rte"]
    drawn = {"holdout_fraction": 0.1, "max_holdout_examples": 1_000, "holdout_groups": None}

    def shared(protocol: dict[str, Any]) -> set[str]:
        train, holdout = read_train(task, load_examples.fingerprint(task), protocol)
        assert len(holdout) == pytest.approx(0.1 * (len(train) + len(holdout)), rel=0.1)
        texts = ({text for texts in side.texts for text in texts} for side in (train, holdout))
        return set.intersection(*texts)

    assert shared(drawn)
    assert not shared({**drawn, "holdout_groups": "texts"})
