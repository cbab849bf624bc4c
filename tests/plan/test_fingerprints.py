"""Plans where the data are not, with the fingerprints that finished stages recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.data import python_stdlib
from harness.experiment.declaration import Declaration, from_data, load
from harness.plan.factory import make_plan
from harness.plan.fingerprints import Fingerprints, recorded_fingerprints
from harness.plan.plan import Plan

SHIPPED = (
    "real_english/english_objectives",
    "domains/real_dapt",
    "domains/real_food_to_film",
    "pretraining/code_identifiers",
)
"""With tasks, probes and text of the Hub, continued pretraining on a task's text, training on
several tasks, and text from which a suite is removed."""
OWN: dict[str, Any] = {
    "name": "own",
    "question": "Does it matter?",
    "pretrain": {
        "size": "nano",
        "corpus": {"source": "text", "path": "train.txt"},
        "held_out": {"source": "text", "path": "held_out.txt"},
        "budget": {"tokens": 1_000},
    },
    "evaluate": {
        "tasks": {
            "own": {
                "kind": "classification",
                "data": {"source": "csv", "files": {"train": "a.csv", "validation": "b.csv"}},
                "text_fields": ["text"],
                "labels": ["no", "yes"],
                "metrics": ["accuracy"],
            }
        }
    },
}


def recorded(plan: Plan) -> Fingerprints:
    """The fingerprints of a plan, as an archive has them."""
    return recorded_fingerprints(json.loads(json.dumps(one.spec)) for one in plan.stages.values())


def missing() -> str:
    raise ValueError("there is no standard library")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_experiment_is_planned_without_its_data(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARNESS_DATA", raising=False)
    declaration = load(Path(f"experiments/{name}.yaml"))
    plan = make_plan(declaration)
    monkeypatch.setenv("HARNESS_DATA", str(tmp_path))
    monkeypatch.setattr(python_stdlib, "fingerprint", missing)
    with pytest.raises(ValueError, match=r"there is no|must contain"):
        make_plan(declaration)
    again = make_plan(declaration, recorded(plan))
    assert again.stages.keys() == plan.stages.keys()


def own_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Declaration:
    monkeypatch.chdir(folder)
    for name in ("train.txt", "held_out.txt"):
        Path(name).write_text(f"A text of {name}.\n\nAnother one.\n")
    for name in ("a.csv", "b.csv"):
        Path(name).write_text(f"text,label\n{name},no\nmore,yes\n")
    return from_data(OWN)


def test_own_files_need_not_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declaration = own_files(tmp_path, monkeypatch)
    plan = make_plan(declaration)
    for file in tmp_path.iterdir():
        file.unlink()
    again = from_data(OWN)
    with pytest.raises(ValueError, match=r"train\.txt"):
        make_plan(again)
    assert make_plan(again, recorded(plan)).stages.keys() == plan.stages.keys()


def test_recorded_fingerprints_come_before_those_of_changed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declaration = own_files(tmp_path, monkeypatch)
    plan = make_plan(declaration)
    Path("train.txt").write_text("Other text.\n\nMore of it.\n")
    assert not make_plan(declaration).pretrain_keys.items() & plan.pretrain_keys.items()
    assert make_plan(declaration, recorded(plan)).stages.keys() == plan.stages.keys()


def test_what_is_not_recorded_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declaration = own_files(tmp_path, monkeypatch)
    plan = make_plan(declaration)
    assert make_plan(declaration, recorded_fingerprints([])).stages.keys() == plan.stages.keys()


def test_a_checkpoint_is_recorded_by_its_commit(tmp_path: Path) -> None:
    folder = str(tmp_path / "model")
    specs = [
        {"checkpoint": {"name": folder, "revision": None}, "fingerprint": "1:first"},
        {"checkpoint": {"name": "an/id", "revision": "abc"}, "fingerprint": "1:second"},
    ]
    found = recorded_fingerprints(specs)
    assert found.checkpoint(folder, None) == "1:first"
    assert found.checkpoint("an/id", "abc") == "1:second"
    assert found.checkpoint("an/id", "def").endswith("an/id@def")


def test_generated_data_are_always_read() -> None:
    """They are on every machine, and a new version of the generator is a change."""
    old = {"task": "micro-sst2", "content": {}, "fingerprint": "microworld:0/sentiment"}
    task = from_data({**OWN, "evaluate": {"suite": "micro-glue-v1"}}).experiment.evaluate
    read = Fingerprints().task(task.chosen["micro-sst2"])
    assert recorded_fingerprints([old]).task(task.chosen["micro-sst2"]) == read
