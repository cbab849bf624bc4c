"""A study in MLflow, read with MLflow's client: made-up results of a real plan, no training."""

import json
from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run, ViewType

import harness
from harness.execution.job import HISTORY, Workspace
from harness.execution.study_runs import FAILED, RUNNING, StudyRuns
from harness.execution.tracker import Tracker
from harness.plan.plan import Plan
from harness.store import finished_runs
from harness.store.store import StageResult, Store

EXPERIMENT: dict[str, Any] = {
    "name": "seen",
    "question": "Is it seen?",
    "pretrain": {
        "size": "nano",
        "corpus": {"source": "microworld", "num_tokens": 20_000},
        "tokenizer": {"vocab_size": 300},
        "budget": {"steps": 3},
    },
    "grid": {"pretrain.objective.masking": ["static", "dynamic"]},
    "seeds": {"pretrain": 2},
    "evaluate": {"tasks": ["micro-sst2", "micro-rte"]},
}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return harness.declare(EXPERIMENT).plan


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty one with tables, which take MLflow's client a second to make."""
    store = Store(tmp_path / "runs")
    store.create_folder()
    finished_runs._make_tables(store.root / "mlflow.db")
    return store


@pytest.fixture(scope="module")
def complete(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """All results, shown; not to be changed."""
    store = Store(tmp_path_factory.mktemp("complete"))
    study(plan, store).finish({key: record(store, plan, key) for key in plan.stages})
    return store


@pytest.fixture
def copied(complete: Store, store: Store) -> Store:
    """A copy of `complete` that may be changed."""
    copyfile(complete.root / "mlflow.db", store.root / "mlflow.db")
    return store


@pytest.fixture
def client(store: Store) -> MlflowClient:
    return client_of(store)


def client_of(store: Store) -> MlflowClient:
    return MlflowClient(f"sqlite:///{store.root / 'mlflow.db'}")


def log(path: Path, steps: range, time: int = 1000) -> None:
    """Writes a history as a stage does, with equal times for equal steps."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"step": i, "time": time + i, "train/loss": 9.0 - i, "dev@1": 0.1 * i} for i in steps]
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def record(store: Store, plan: Plan, key: str, time: int = 1000) -> StageResult:
    """A made-up result of a stage; the steps of its history are 1 to 4."""
    stage, out = plan.stages[key], store.root / "made" / f"{key}-{time}"
    out.mkdir(parents=True)
    metrics = {"seconds": 2.0}
    if stage.kind == "finetune":
        metrics["validation/accuracy"] = stage.spec["seed"] + 0.25 * len(stage.label)
    if stage.kind in ("pretrain", "finetune"):
        log(out / HISTORY, range(1, 5), time)
    return store.record(key, stage.kind, stage.label, stage.spec, metrics, out)


def study(plan: Plan, store: Store) -> StudyRuns:
    return StudyRuns(plan, store, Workspace(store.root))


def runs(client: MlflowClient, condition: str = "", name: str = "seen") -> list[Run]:
    experiment = client.get_experiment_by_name(name)
    assert experiment is not None
    return list(client.search_runs([experiment.experiment_id], condition, ViewType.ACTIVE_ONLY))


def history(client: MlflowClient, run: Run, name: str = "train/loss") -> list[tuple[int, float]]:
    found = client.get_metric_history(run.info.run_id, name)
    return sorted((point.step, point.value) for point in found)


def test_a_finished_study_is_an_experiment_with_nested_runs(plan: Plan, complete: Store) -> None:
    results, client = complete.finished(), client_of(complete)
    arms = runs(client, "tags.kind = 'arm'")
    assert [run.info.status for run in arms] == ["FINISHED"] * 2
    assert sorted(run.info.run_name or "" for run in arms) == sorted(arm.name for arm in plan.arms)
    for arm in arms:
        name, parent = arm.data.tags["arm"], arm.info.run_id
        nested = runs(client, f"tags.`mlflow.parentRunId` = '{parent}'")
        keys = {run.key for run in plan.finetune_runs if run.arm == name}
        keys |= {key for (of, _), key in plan.pretrain_keys.items() if of == name}
        shared = {key for key, one in plan.stages.items() if one.kind.startswith("token")}
        assert sorted(run.data.tags["key"] for run in nested) == sorted(keys | shared)
        assert {run.info.status for run in nested} == {"FINISHED"}
        own = [results[key] for key in keys if plan.stages[key].kind == "finetune"]
        sst2 = [one for one in own if plan.stages[one.key].spec["task"] == "micro-sst2"]
        mean = sum(one.metrics["validation/accuracy"] for one in sst2) / len(sst2)
        assert arm.data.metrics["micro-sst2/validation/accuracy"] == pytest.approx(mean)
        assert arm.data.params["pretrain.objective.masking"] == name.rpartition("=")[2]


def test_tags_find_arm_task_and_seeds(plan: Plan, complete: Store) -> None:
    client, arm = client_of(complete), plan.arms[0].name
    (run,) = runs(
        client,
        f"tags.arm = '{arm}' AND tags.task = 'micro-rte' AND tags.kind = 'finetune' "
        "AND tags.pretrain_seed = '1' AND tags.finetune_seed = '0'",
    )
    (expected,) = [
        one.key
        for one in plan.finetune_runs
        if (one.arm, one.task, one.pretrain_seed) == (arm, "micro-rte", 1)
    ]
    assert run.data.tags["key"] == expected and run.data.tags["experiment"] == "seen"
    assert run.data.params["task"] == "micro-rte"
    stored = complete.find(expected)
    assert stored is not None and run.data.tags["stage_run"] == stored.run_id
    assert stored.run_id in run.data.tags["mlflow.note.content"]
    assert history(client, run) == [(1, 8.0), (2, 7.0), (3, 6.0), (4, 5.0)]
    assert [step for step, _ in history(client, run, "dev_1")] == [1, 2, 3, 4]
    assert run.info.end_time == stored.recorded
    assert run.info.start_time == stored.recorded - 2000
    assert run.data.metrics["validation/accuracy"] == stored.metrics["validation/accuracy"]


def snapshot(client: MlflowClient) -> dict[str, Any]:
    """Everything that the pages show of a study, by run."""
    return {
        run.info.run_id: (
            run.info.status,
            run.data.tags,
            run.data.params,
            {name: history(client, run, name) for name in run.data.metrics},
        )
        for run in runs(client)
    }


def test_histories_grow_while_a_stage_runs(plan: Plan, store: Store, client: MlflowClient) -> None:
    """After an interruption, another process continues the same run; at the end the history is
    complete, and each point is there once."""
    key = plan.pretrain_keys[plan.arms[0].name, 0]
    live, condition = Workspace(store.root).history(key), f"tags.key = '{key}'"
    first = study(plan, store)
    first.update({key: RUNNING})
    (run,) = runs(client, condition)
    assert (run.info.status, run.data.metrics) == ("RUNNING", {})
    log(live, range(1, 3))
    with live.open("a") as file:
        file.write('{"step": 3, "ti')
    first.update({key: RUNNING})
    assert history(client, run) == [(1, 8.0), (2, 7.0)]
    study(plan, store).interrupt()  # of a process that shows none of these runs
    assert {one.info.status for one in runs(client, condition)} == {"RUNNING"}
    first.interrupt()
    assert {one.info.status for one in runs(client)} == {"KILLED"}
    first.update({key: RUNNING})  # by the thread of the interrupted process
    assert {one.info.status for one in runs(client)} == {"KILLED"}
    live.unlink()
    log(live, range(1, 4))  # the complete lines, continued
    second = study(plan, store)
    second.update({key: RUNNING})
    (run,) = runs(client, condition)
    assert run.info.status == "RUNNING"
    assert history(client, run) == [(1, 8.0), (2, 7.0), (3, 6.0)]
    second.finish({key: record(store, plan, key)})
    (run,) = runs(client, condition)
    assert run.info.status == "FINISHED"
    assert history(client, run) == [(1, 8.0), (2, 7.0), (3, 6.0), (4, 5.0)]
    statuses = {one.data.tags["arm"]: one.info.status for one in runs(client, "tags.kind = 'arm'")}
    assert set(statuses.values()) == {"FAILED"}  # stages are missing


def test_a_line_that_is_read_before_its_end_is_logged_once_it_is_whole(
    plan: Plan, store: Store, client: MlflowClient
) -> None:
    key = plan.pretrain_keys[plan.arms[0].name, 0]
    live, own = Workspace(store.root).history(key), study(plan, store)
    log(live, range(1, 4))
    whole = live.read_bytes()
    for end in (whole.rindex(b"{") + 9, len(whole)):
        live.write_bytes(whole[:end])
        own.update({key: RUNNING})
    (run,) = runs(client, f"tags.key = '{key}'")
    assert history(client, run) == [(1, 8.0), (2, 7.0), (3, 6.0)]


def test_a_second_process_adds_nothing(plan: Plan, copied: Store, client: MlflowClient) -> None:
    """After the end, and after a kill before the last run was ended."""
    results, before = copied.finished(), snapshot(client)
    assert study(plan, copied).are_complete(results)
    last = runs(client, "tags.kind = 'finetune'")[0]
    client.update_run(last.info.run_id, "RUNNING")
    assert not study(plan, copied).are_complete(results)
    study(plan, copied).finish(results)
    assert snapshot(client) == before


def test_stages_of_another_study_are_shown_with_their_histories(
    plan: Plan, copied: Store, client: MlflowClient
) -> None:
    seeds, tasks = {"pretrain": 1}, {"tasks": ["micro-sst2"]}
    other = harness.declare({**EXPERIMENT, "name": "other", "seeds": seeds, "evaluate": tasks}).plan
    results = copied.finished(other.stages)
    assert results.keys() == other.stages.keys()
    assert not study(other, copied).are_complete(results)
    study(other, copied).finish(results)
    found = runs(client, "tags.kind = 'pretrain'", "other")
    assert len(found) == 2
    assert all(len(history(client, run)) == 4 for run in found)
    assert len(runs(client, name="pretraining-harness")) == len(plan.stages)


def test_a_stage_computed_again_has_a_new_run(
    plan: Plan, store: Store, client: MlflowClient
) -> None:
    key = plan.pretrain_keys[plan.arms[0].name, 0]
    old = record(store, plan, key)
    study(plan, store).finish({key: old})
    store.forget(old)
    again = study(plan, store)
    again.update({key: RUNNING})
    new = record(store, plan, key, time=5000)
    again.finish({key: new})
    (run,) = runs(client, f"tags.key = '{key}'")
    assert run.data.tags["stage_run"] == new.run_id
    assert len(history(client, run)) == 4


def test_a_changed_declaration_has_new_runs_of_arms(
    plan: Plan, copied: Store, client: MlflowClient
) -> None:
    longer = {**EXPERIMENT["pretrain"], "budget": {"steps": 4}}
    changed = harness.declare({**EXPERIMENT, "pretrain": longer}).plan
    assert not study(changed, copied).are_complete({})
    study(changed, copied).finish({})
    arms = runs(client, "tags.kind = 'arm'")
    assert len(arms) == 4 and len({run.data.tags["declaration"] for run in arms}) == 4
    study(plan, copied).finish({})
    assert len(runs(client, "tags.kind = 'arm'")) == 4


def test_a_deleted_experiment_is_shown_again(
    plan: Plan, store: Store, client: MlflowClient
) -> None:
    study(plan, store).finish({})
    experiment = client.get_experiment_by_name("seen")
    assert experiment is not None
    client.delete_experiment(experiment.experiment_id)
    assert not study(plan, store).are_complete({})
    study(plan, store).finish({})
    assert len(runs(client, "tags.kind = 'arm'")) == 2


def test_a_failed_stage_is_shown_as_failed(plan: Plan, store: Store, client: MlflowClient) -> None:
    key = plan.pretrain_keys[plan.arms[0].name, 0]
    log(Workspace(store.root).history(key), range(1, 3))
    study(plan, store).update({key: FAILED})
    (run,) = runs(client, f"tags.key = '{key}'")
    assert run.info.status == "FAILED" and len(history(client, run)) == 2


def test_more_points_than_a_batch_holds(plan: Plan, store: Store, client: MlflowClient) -> None:
    key = plan.pretrain_keys[plan.arms[0].name, 0]
    log(Workspace(store.root).history(key), range(1, 1201))
    study(plan, store).update({key: RUNNING})
    (run,) = runs(client, f"tags.key = '{key}'")
    assert [step for step, _ in history(client, run)] == list(range(1, 1201))


def test_an_error_of_mlflow_fails_no_stage(
    plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: StudyRuns, states: Mapping[str, Any]) -> None:
        raise OSError("no such server\nand more")

    monkeypatch.setattr(StudyRuns, "update", refuse)
    with Tracker(plan, store, Workspace(store.root)) as tracker:
        tracker.running("k")
    assert tracker.problems == {"the study's runs in MLflow": "OSError: no such server"}


def test_without_the_logger_nothing_is_shown(store: Store) -> None:
    silent = harness.declare({**EXPERIMENT, "compute": {"loggers": []}}).plan
    with Tracker(silent, store, Workspace(store.root)) as tracker:
        assert tracker.is_complete()
    assert store.tracked("seen") == []
