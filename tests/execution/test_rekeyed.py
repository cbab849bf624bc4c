"""Finished stages whose keys a change has made obsolete, with made-up results of real plans."""

import re
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from typer.testing import CliRunner

import harness
from harness.cli.app import app
from harness.execution import rekeyed as module
from harness.execution.job import Workspace
from harness.execution.outlook import outlook
from harness.execution.rekeyed import UNRECORDED, adopt, rekeyed, rekeyed_lines
from harness.execution.study_runs import StudyRuns
from harness.plan.plan import Plan
from harness.plan.stage_kinds import STAGE_KINDS, StageKind
from harness.store.store import Store

EXPERIMENT: dict[str, Any] = {
    "name": "changed",
    "question": "Which results remain?",
    "pretrain": {
        "size": "nano",
        "corpus": {"source": "microworld", "num_tokens": 20_000},
        "tokenizer": {"vocab_size": 300},
        "budget": {"steps": 3},
    },
    "grid": {"pretrain.objective.masking": ["static", "dynamic"]},
    "seeds": {"pretrain": 1, "finetune": 2},
    "evaluate": {"tasks": ["micro-sst2"]},
}
EPOCHS = ("evaluate.finetune.epochs=2",)


def planned(*overrides: str) -> Plan:
    return harness.declare(EXPERIMENT, *overrides).plan


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store in which the experiment was run; not to be changed."""
    return fill(Store(tmp_path_factory.mktemp("store") / "runs"), planned())


@pytest.fixture
def store(filled: Store, tmp_path: Path) -> Store:
    """A copy of it that may be changed."""
    copytree(filled.root, tmp_path / "runs")
    return Store(tmp_path / "runs")


def fill(store: Store, plan: Plan) -> Store:
    for key, stage in plan.stages.items():
        out = store.root / "made" / key
        out.mkdir(parents=True)
        (out / "file").write_text(stage.label)
        spec = {**stage.spec, "parents": stage.parents}
        store.record(key, stage.kind, stage.label, spec, {"stage_seconds": 60.0}, out)
    StudyRuns(plan, store, Workspace(store.root)).finish(store.finished())
    return store


def found(store: Store, *overrides: str) -> list[module.Rekeyed]:
    return rekeyed(planned(*overrides), store, store.finished())


def test_nothing_is_found_without_a_change(filled: Store) -> None:
    assert found(filled) == []
    assert found(filled, "seeds.finetune=3") == []  # new stages beside the finished ones
    assert found(filled, "name=another", *EPOCHS) == []


def test_a_field_of_the_last_stages_rekeys_these_alone(filled: Store) -> None:
    stages = found(filled, *EPOCHS)
    assert [one.stage.kind for one in stages] == ["finetune"] * 4
    assert {one.stage.label for one in stages} == {
        filled._server.client.get_run(one.earlier.run_id).data.tags["harness.label"]
        for one in stages
    }
    (line,) = rekeyed_lines(stages)
    assert line.startswith("finetune.epochs ") and line.endswith(" -> 2: 4 finetune")


def test_stages_after_a_changed_one_are_counted_apart(filled: Store) -> None:
    first, second = rekeyed_lines(found(filled, "pretrain.budget.steps=4"))
    assert first == "pretrain.budget.steps 3 -> 4: 2 pretrain"
    assert second == "stages after these: 4 finetune"


def test_a_new_version_of_a_stage(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STAGE_KINDS, "tokenizer", StageKind(99, runs_callbacks=False))
    first, second = rekeyed_lines(found(filled))
    assert first == f"{UNRECORDED}: 1 tokenizer"
    assert second == "stages after these: 1 tokenize, 2 pretrain, 4 finetune"


def test_adopted_stages_are_finished_and_say_why(store: Store) -> None:
    plan, before = planned("pretrain.budget.steps=4"), store.finished()
    adopt(rekeyed(plan, store, before), store, "the loss was flat")
    finished = store.finished(plan.stages)
    assert finished.keys() == plan.stages.keys()
    for key, stage in plan.stages.items():
        result = finished[key]
        assert (store.files(result) / "file").read_text() == stage.label
        assert result.metrics["stage_seconds"] == 60
        change = "pretrain.budget.steps 3 -> 4"
        texts = {
            "pretrain": f"{change}: the loss was flat",
            "finetune": f"after a change of {change}: the loss was flat",
        }
        assert result.adopted == texts.get(stage.kind, "")
    assert rekeyed(plan, store, store.finished()) == []
    assert store.finished().keys() == before.keys() | plan.stages.keys()


def test_files_that_changed_are_named_as_data(tmp_path: Path) -> None:
    text = tmp_path / "own.txt"
    corpus = {"source": "text", "path": str(text)}
    changes = {"corpus": corpus, "objective": "mlm"}
    own = EXPERIMENT | {"pretrain": EXPERIMENT["pretrain"] | changes}
    text.write_text("a text .\n\nanother text .\n")
    store = fill(Store(tmp_path / "runs"), harness.declare(own).plan)
    text.write_text("a text .\n\na changed text .\n")
    lines = rekeyed_lines(rekeyed(harness.declare(own).plan, store, store.finished()))
    digest = "sha256:[0-9a-f]{8}"
    line = f"content of the data {digest} -> {digest}: 1 tokenizer, 1 tokenize"
    assert re.fullmatch(line, lines[0]) and lines[1].startswith("stages after these: ")


def test_plan_and_command_name_them(store: Store, tmp_path: Path) -> None:
    known = outlook(planned(*EPOCHS), store)
    assert len(known.rekeyed) == 4
    path = tmp_path / "changed.yaml"
    path.write_text(harness.declare(EXPERIMENT).experiment.model_dump_json(exclude_unset=True))
    words = [str(path), "--set", EPOCHS[0], "--store", str(store.root)]

    def run(command: str, *more: str) -> str:
        result = CliRunner().invoke(app, [command, *words, *more])
        assert result.exit_code == 0, result.output
        return result.output

    shown = run("plan")
    assert "computed again after a change: 4 stages (4 min)" in shown
    assert "-> 2: 4 finetune" in shown
    assert "--reason" in run("adopt") and len(store.finished()) == 8
    unnamed = CliRunner().invoke(app, ["adopt", *words, "--reason", " "])
    assert unnamed.exit_code == 2 and unnamed.output.startswith("--reason must say why")
    assert "4 stages adopted" in run("adopt", "--reason", "a repetition")
    assert "finished before a change" not in run("plan")
    assert "no unfinished stage was finished before a change" in run("adopt")


def test_commands_do_not_say_that_a_changed_experiment_was_never_run(
    filled: Store, tmp_path: Path
) -> None:
    path = tmp_path / "changed.yaml"
    path.write_text(harness.declare(EXPERIMENT).experiment.model_dump_json(exclude_unset=True))
    changed = ("--set", "pretrain.tokenizer.vocab_size=400", "--store", str(filled.root))
    for command, expected in (("status", 0), ("leaderboard", 2), ("report", 2)):
        result = CliRunner().invoke(app, [command, str(path), *changed])
        assert result.exit_code == expected
        assert f"changed was run in the store {filled.root}, but no stage" in result.output


def test_an_empty_store_has_nothing_to_take_over(tmp_path: Path) -> None:
    assert rekeyed(planned(), Store(tmp_path), {}) == []
