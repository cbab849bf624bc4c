"""What no experiment refers to: found, kept while it is young or needed, removed."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import harness
from harness.cli.app import app
from harness.execution import garbage
from harness.execution.garbage import find_garbage
from harness.execution.job import Workspace
from harness.plan.plan import Plan
from harness.store.recorded import SCORE_COLUMNS
from harness.store.store import Store

EXPERIMENT: dict[str, Any] = {
    "name": "kept",
    "question": "What remains?",
    "pretrain": {
        "size": "nano",
        "corpus": {"source": "microworld", "num_tokens": 20_000},
        "tokenizer": {"vocab_size": 300},
        "budget": {"steps": 3},
    },
    "seeds": {"pretrain": 1, "finetune": 1},
    "evaluate": {"tasks": ["micro-sst2"]},
}
OTHER_STEPS = ("pretrain.budget.steps=4",)


def planned(*overrides: str) -> Plan:
    return harness.declare(EXPERIMENT, *overrides).plan


def compute(store: Store, plan: Plan) -> None:
    """Records made-up results of all stages."""
    for key in plan.stages.keys() - store.finished().keys():
        stage, out = plan.stages[key], store.root / "made" / key
        out.mkdir(parents=True)
        (out / "file").write_text("1234")
        spec = {**stage.spec, "parents": stage.parents}
        store.record(key, stage.kind, stage.label, spec, {"stage_seconds": 60.0}, out)


def record(store: Store, plan: Plan, with_stages: bool = True) -> None:
    """Records the experiment, as earlier versions did or with the keys of its stages."""
    folder = store.root / f"recorded-{with_stages}"
    folder.mkdir()
    scored = pd.DataFrame({"key": [run.key for run in plan.finetune_runs]}, columns=SCORE_COLUMNS)
    scored.to_parquet(folder / "results.parquet")
    (folder / "experiment.yaml").write_text("{}")
    if with_stages:
        (folder / "stages.json").write_text(json.dumps(list(plan.stages)))
    store.record_experiment("kept", "custom", folder)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Stages of an experiment before and after a change of its budget."""
    store = Store(tmp_path / "runs")
    for plan in (planned(), planned(*OTHER_STEPS)):
        compute(store, plan)
    return store


def call(store: Store, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*words, "--store", str(store.root)])
    return result.exit_code, result.output


@pytest.mark.parametrize("with_stages", [True, False])
def test_what_a_recorded_experiment_was_computed_from_is_kept(
    store: Store, with_stages: bool
) -> None:
    record(store, planned(), with_stages)
    unneeded = planned(*OTHER_STEPS).stages.keys() - planned().stages.keys()
    assert {store.finished()[key].kind for key in unneeded} == {"pretrain", "finetune"}
    found = find_garbage(store, days=0)
    assert {one.key for one in found.stages} == unneeded
    assert found.num_bytes == 4 * len(unneeded)
    assert not find_garbage(store).stages  # too young
    assert not find_garbage(store, planned(*OTHER_STEPS).stages, days=0).stages
    folders = [store.files(one) for one in found.stages]
    found.remove()
    assert store.finished().keys() == planned().stages.keys()
    assert not any(folder.parent.exists() for folder in folders)
    assert all(store.files(one) for one in store.finished().values())
    assert not find_garbage(store, days=0).stages


def test_old_work_goes_and_running_stages_stop_it(store: Store) -> None:
    record(store, planned())
    workspace, (kept, *_) = Workspace(store.root), planned().stages
    for key in ("old", "young", kept):
        workspace.state(key).mkdir(parents=True)
    before = time.time() - 20 * 86_400
    for path in (workspace.state("old"), workspace.folder("old"), workspace.state(kept)):
        os.utime(path, (before, before))
    assert [path.name for path in find_garbage(store).work] == ["old"]
    with workspace.lease("young"), pytest.raises(ValueError, match="but 1 are; wait"):
        find_garbage(store)


def test_files_of_runs_that_are_no_results_go(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a recording that a kill interrupted, and of a damaged stage that was computed again."""
    record(store, planned())
    server, again = store._server, next(iter(store.finished().values()))
    with monkeypatch.context() as killed:
        killed.setattr(server.client, "set_terminated", lambda *_, **__: None)
        server.add("finetune", {"harness.key": "k"}, {}, {}, store.files(again))
    store.forget(again)
    assert again.key not in store.finished()
    assert not find_garbage(store, days=0).uncounted  # they may be recorded now
    monkeypatch.setattr(garbage, "RECORDING_SECONDS", 0.0)
    assert not find_garbage(store).uncounted
    found = find_garbage(store, planned(*OTHER_STEPS).stages, days=0)
    assert found and not found.stages and len(found.uncounted) == 2 and found.num_bytes == 8
    assert {one.run_id for one in store._server.uncounted()} == {
        one.run_id for one in found.uncounted
    }
    code, output = call(store, "gc", "--days", "0")
    assert code == 0 and "interrupted recordings and damaged results: 2" in output
    found.remove()
    assert not store.uncounted() and not find_garbage(store, days=0).uncounted
    folders = {path.name for path in (store.root / "artifacts").iterdir()}
    assert not folders & {one.run_id for one in found.uncounted} and folders


def test_commands(store: Store, tmp_path: Path) -> None:
    code, output = call(store, "gc")
    assert code == 2 and "must have a recorded experiment, but has none" in output
    record(store, planned())
    code, output = call(store, "gc")
    assert code == 0 and "too young" in output
    code, output = call(store, "gc", "--days", "0")
    assert code == 0 and "8 bytes on this machine; remove them with --yes" in output
    assert "pretrain" in output and "tokenizer" not in output
    assert len(store.finished()) == 6
    code, output = call(store, "store")
    assert code == 0 and f"store: {store.root}" in output and "experiments: kept" in output
    assert ["finetune", "2", "8", "bytes"] in [line.split()[:4] for line in output.splitlines()]
    code, output = call(store, "gc", "--days", "0", "--yes")
    assert code == 0 and "removed: 8 bytes" in output
    assert store.finished().keys() == planned().stages.keys()


def test_nothing_is_removed_while_the_record_of_an_experiment_is_damaged(tmp_path: Path) -> None:
    store, plan = Store(tmp_path), planned()
    compute(store, plan)
    record(store, plan)
    (store.experiments()["kept"] / "stages.json").write_text("[]")
    with pytest.raises(ValueError, match="but experiment kept is damaged: run it again"):
        find_garbage(store, days=0)
