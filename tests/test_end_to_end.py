"""A small experiment from file to report: run, rerun, crash, damage, resume."""

import itertools
import json
import re
from collections import Counter
from functools import partial
from pathlib import Path
from shutil import copytree, ignore_patterns, move
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from mlflow import MlflowClient
from transformers import AutoTokenizer
from typer.testing import CliRunner

import harness
from benchmarks.crash_recovery import events, kill_when, num_finished, started_again
from harness.analysis.frames.costs import ALL_ARMS, costs_frame, total_costs
from harness.analysis.frames.trials import TRIAL_COLUMNS, selected_trials, trials_frame
from harness.analysis.frames.vocabularies import vocabularies_frame
from harness.cli.app import app
from harness.cli.run import MAX_THREATS
from harness.store.recorded import recorded_experiments
from harness.study import Study
from tests.paths import ROOT

EXPERIMENT = """
name: small
question: Do all steps work?
expect: dynamic > static
pretrain:
  size: nano
  corpus: {source: microworld, num_tokens: 20_000}
  tokenizer: {vocab_size: 600}
  phases: [{fraction: 1, sequence_length: 64}]
  batch_size: 8
  optimizer: {learning_rate: 1e-3}
  budget: {tokens: 15_000}
grid: {pretrain.objective.masking: [static, dynamic]}
seeds: {pretrain: 2, finetune: 1}
evaluate:
  tasks: [micro-sst2, micro-stsb]
  protocol: {pooling: mean, max_train_examples: 100, max_sequence_length: 48}
  finetune: {learning_rate: 1e-3, epochs: 1}
sweep: {trials: 2, sampler: random, space: {learning_rate: {low: 1e-4, high: 3e-3, log: true}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    (folder / "small.yaml").write_text(EXPERIMENT)
    return folder


@pytest.fixture(scope="module")
def study(folder: Path) -> Study:
    """A finished run, with as many workers as the machine has cores, as by default."""
    return harness.load(folder / "small.yaml", store=folder / "runs").run()


def command(folder: Path, *arguments: str) -> str:
    """Output of a command that must succeed."""
    result = CliRunner().invoke(app, [*arguments, "--store", str(folder / "runs")])
    assert result.exit_code == 0, result.output
    return result.output


def test_every_stage_ran_once(study: Study) -> None:
    assert not study.last_run.failed
    assert sorted(study.last_run.computed) == sorted(study.plan.stages)
    finished = [event["key"] for event in events(study.store.root) if event["event"] == "finish"]
    assert sorted(finished) == sorted(study.plan.stages)


COLUMNS = [
    ("micro-sst2", "validation", "accuracy"),
    ("micro-stsb", "validation", "spearman"),
    ("micro-stsb", "validation", "pearson"),
]


def test_a_run_begins_with_warnings_and_ends_with_verdict_and_threats(
    study: Study, folder: Path
) -> None:
    output = command(folder, "run", str(folder / "small.yaml"))
    (tokenizer,) = [one for one in study.results.finished.values() if one.kind == "tokenizer"]
    learned = int(tokenizer.metrics["vocab_size"])
    before, _, after = output.partition("expected dynamic > static")
    few = "static, dynamic: 30 pretraining updates are fewer than 500"
    assert f"warning: {few}" in before and f"\n- {few}" in after
    assert after.startswith(": void, ")  # 30 updates teach nothing
    assert "is not shown to be above chance" in after.splitlines()[0]
    (line,) = study.summary().verdicts
    assert f"expected {line}" in output
    threats = study.summary().threats
    assert all(f"\n- {threat}" in after for threat in threats[:MAX_THREATS])
    assert len(threats) > MAX_THREATS and threats[-1] not in after
    costs = study.results.plan.costs["static"]
    declared = study.plan.costs["static"]
    assert costs.parameters and declared.parameters
    assert declared.parameters - costs.parameters == (600 - learned) * 64


def test_a_plan_after_the_run_counts_and_times_by_what_was_learned(
    study: Study, folder: Path
) -> None:
    output = command(folder, "plan", str(folder / "small.yaml"), "--set", "seeds.finetune=2")
    assert "entries, as learned" in output
    assert f"(learned from {len(study.plan.stages)} finished stages)" in output


def test_every_declared_run_has_every_score_once(study: Study) -> None:
    frame = study.scores()
    names = ["arm", "task", "split", "metric", "pretrain_seed", "finetune_seed"]
    expected = [
        (arm, *column, seed, 0)
        for arm, column, seed in itertools.product(("static", "dynamic"), COLUMNS, (0, 1))
    ]
    assert sorted(frame[names].itertuples(index=False, name=None)) == sorted(expected)
    assert frame.value.between(-1, 1).all()


def test_scores_follow_from_the_predictions(study: Study) -> None:
    frame = study.scores().query("metric == 'accuracy'")
    assert len(frame) == 4
    records = study.results.finished
    for row in frame.itertuples():
        stored = study.store.fetch(records[str(row.key)])
        assert stored is not None
        rows = pd.read_parquet(stored / "predictions.parquet")
        assert (rows.label == rows.prediction).mean() == pytest.approx(row.value)


def test_every_arm_and_task_has_its_trials(study: Study) -> None:
    frame = study.results.get(trials_frame)
    assert list(frame.columns) == [*TRIAL_COLUMNS, "learning_rate"]
    assert (frame.groupby(["arm", "task"]).size() == 2).all() and len(frame) == 8
    assert frame.groupby("trial")["learning_rate"].nunique().eq(1).all()
    costs = study.results.get(costs_frame)
    spent = costs.query("stage == 'tune'")["seconds"].sum()
    assert spent > frame["seconds"].sum()


def test_each_pretraining_seed_has_the_settings_of_its_own_search(
    study: Study, folder: Path, tmp_path: Path
) -> None:
    """Those of the first are shared with a study of one search for all seeds."""
    copytree(folder / "runs", tmp_path / "runs")
    path = folder / "small.yaml"
    each = harness.load(path, "sweep.seeds=each", store=tmp_path / "runs").run(executor="serial")
    new = Counter(each.plan.stages[key].kind for key in each.last_run.computed)
    assert new == {"trial": 8, "tune": 4, "finetune": 4}
    frame = each.results.get(trials_frame)
    first = frame[frame["pretrain_seed"] == 0].reset_index(drop=True)
    assert first.equals(study.results.get(trials_frame))
    assert frame.groupby(["arm", "task", "pretrain_seed"]).size().eq(2).all() and len(frame) == 16
    assert frame.groupby(["pretrain_seed", "trial"])["learning_rate"].nunique().eq(1).all()
    assert frame["learning_rate"].nunique() == 4
    best = selected_trials(each.results).set_index(["arm", "task", "pretrain_seed"])
    for run in each.plan.finetune_runs:
        chosen = each.results.files(each.plan.stages[run.key].parents["tune"]) / "best.json"
        found = best.loc[(run.arm, run.task, run.pretrain_seed), "learning_rate"]
        assert json.loads(chosen.read_text()) == {"learning_rate": pytest.approx(found)}
    for one, name, is_said in ((study, "once", True), (each, "each", False)):
        one.write_report(tmp_path / name)
        text = (tmp_path / name / "README.md").read_text()
        assert ("intervals do not contain the noise of that choice" in text) == is_said
        assert ("2 random trials per pretraining seed" in text) != is_said


def test_costs_and_vocabularies_are_those_of_the_stages(study: Study) -> None:
    results = study.results
    totals, finished = results.get(total_costs), results.finished
    runs = [finished[key] for key in results.plan.pretrain_keys.values()]
    assert len(runs) == 4
    assert totals.loc[ALL_ARMS, "tokens"] == sum(run.metrics["tokens"] for run in runs)
    seconds = sum(stage.metrics["seconds"] for stage in finished.values())
    assert totals.loc[ALL_ARMS, "hours"] == pytest.approx(seconds / 3600)
    own = totals.drop(index=ALL_ARMS)
    assert own["tokens"].sum() == totals.loc[ALL_ARMS, "tokens"]
    assert own["hours"].sum() > float(totals["hours"][ALL_ARMS])  # the arms share a tokenizer
    frame = results.get(vocabularies_frame)
    tokenizer = results.plan.stages[next(iter(results.plan.pretrain_keys.values()))]
    loaded = AutoTokenizer.from_pretrained(results.files(tokenizer.parents["tokenizer"]))
    assert frame["learned"].tolist() == [len(loaded)] * 2
    assert frame["declared"].tolist() == [600] * 2


def test_a_second_run_computes_nothing(study: Study, folder: Path) -> None:
    output = command(folder, "run", str(folder / "small.yaml"))
    assert f"all {len(study.plan.stages)} stages were done already" in output
    journal = (study.store.root / "journal.jsonl").read_text()
    assert journal.count('"finish"') == len(study.plan.stages)


def test_a_record_without_quantities_is_made_again(study: Study) -> None:
    """As an earlier version left it; nothing is computed for it."""
    (one,) = recorded_experiments(study.store)
    known = one.quantities
    assert known["static"].keys() >= {"loss", "flops"}
    with TemporaryDirectory() as name:
        earlier = Path(name) / "record"
        copytree(one.folder, earlier, ignore=ignore_patterns("quantities.json"))
        study.store.record_experiment(one.name, study.experiment.evaluate.suite_value.name, earlier)
    assert not recorded_experiments(study.store)[0].quantities
    assert not study.run().last_run.computed
    assert recorded_experiments(study.store)[0].quantities == known


@pytest.mark.filterwarnings("ignore:starlette.middleware.wsgi is deprecated")  # by MLflow's server
def test_mlflow_shows_the_study(study: Study) -> None:
    """By REST, as MLflow's pages read it."""
    from mlflow.server import app as server
    from mlflow.server import handlers

    with pytest.MonkeyPatch.context() as patch:
        uri = f"sqlite:///{study.store.root / 'mlflow.db'}"
        patch.setattr(handlers, "_tracking_store", None)
        patch.setenv("_MLFLOW_SERVER_FILE_STORE", uri)
        patch.setenv("MLFLOW_TRACKING_URI", uri)  # which the server sets and leaves
        client, api = server.test_client(), "/api/2.0/mlflow"
        found = client.get(f"{api}/experiments/get-by-name?experiment_name=small").get_json()
        wanted = {
            "experiment_ids": [found["experiment"]["experiment_id"]],
            "filter": "tags.arm = 'static' AND tags.kind = 'pretrain' AND tags.pretrain_seed = '1'",
        }
        (run,) = client.post(f"{api}/runs/search", json=wanted).get_json()["runs"]
        tags = {tag["key"]: tag["value"] for tag in run["data"]["tags"]}
        above = f"{api}/runs/get?run_id={tags['mlflow.parentRunId']}"
        arm = client.get(above).get_json()["run"]
        curve = f"{api}/metrics/get-history?run_id={run['info']['run_id']}&metric_key=train/loss"
        points = client.get(curve).get_json()["metrics"]
    assert arm["info"]["run_name"] == "static" and arm["info"]["status"] == "FINISHED"
    key = study.plan.pretrain_keys["static", 1]
    assert tags["key"] == key
    stored = pd.read_csv(study.store.files(study.results.finished[key]) / "curve.csv")
    assert [point["step"] for point in points] == stored["step"].tolist()
    assert [point["value"] for point in points] == stored["train_loss"].tolist()


def shown(study: Study) -> pd.DataFrame:
    """The runs of the study's stages in its MLflow experiment, to which another test adds seeds:
    arm, key, status, and steps of the loss."""
    client = MlflowClient(f"sqlite:///{study.store.root / 'mlflow.db'}")
    experiment = client.get_experiment_by_name(study.name)
    assert experiment
    rows = []
    for run in client.search_runs([experiment.experiment_id], "tags.key != ''"):
        points = client.get_metric_history(run.info.run_id, "train/loss")
        steps = tuple(sorted(point.step for point in points))
        if (key := run.data.tags["key"]) in study.plan.stages:
            rows.append((run.data.tags["arm"], key, run.info.status, steps))
    return pd.DataFrame(sorted(set(rows)), columns=["arm", "key", "status", "steps"])


def test_every_search_is_a_study_of_optuna(study: Study, folder: Path) -> None:
    """In the order in which the trials ended. A damaged file is filled again by the next run."""
    path = study.store.root / "optuna.db"
    trials = study.results.get(trials_frame)
    for damaged in (False, True):
        if damaged:
            path.write_bytes(b"no database")
            harness.load(folder / "small.yaml", store=folder / "runs").run()
        for (arm, task), own in trials.groupby(["arm", "task"]):
            name = f"small/{arm}/{task}"
            found = optuna.load_study(study_name=name, storage=f"sqlite:///{path}").trials
            pairs = [(one.params["learning_rate"], one.value) for one in found]
            assert sorted(pairs) == sorted(zip(own["learning_rate"], own["value"], strict=True))


def test_leaderboard_status_and_report(study: Study, folder: Path) -> None:
    path = str(folder / "small.yaml")
    table = command(folder, "leaderboard", path)
    assert re.search(r"\|\s*dynamic", table)
    assert "mean_of_columns" in table
    csv = command(folder, "leaderboard", path, "--format", "csv")
    assert "static" in csv
    status = command(folder, "status", path)
    assert f"{len(study.plan.stages)} of {len(study.plan.stages)} stages done" in status
    command(folder, "report", path, "--out", str(folder / "report"))
    page = (folder / "report" / "index.html").read_text()
    assert "Do all steps work?" in page
    assert '<li class="void">' in page
    assert not re.search(r'(src|href)="(https?:)?//', page), "the page needs the network"


def test_a_copied_and_moved_store_goes_on_at_its_new_place(
    study: Study, folder: Path, tmp_path: Path
) -> None:
    """Nothing is computed, and the old places are neither read nor written."""
    path = str(folder / "small.yaml")
    table = command(folder, "leaderboard", path, "--format", "csv")
    (tmp_path / "copy").mkdir()
    copytree(study.store.root, tmp_path / "copy" / "runs")
    before = {path: path.stat().st_mtime_ns for path in study.store.root.rglob("*")}
    new = tmp_path / "new"
    move(tmp_path / "copy", new)
    output = command(new, "run", path)
    assert f"all {len(study.plan.stages)} stages were done already" in output
    assert f"report, with notes on the table: {new}/runs/reports/small" in output
    assert command(new, "leaderboard", path, "--format", "csv") == table
    moved = harness.load(folder / "small.yaml", store=new / "runs")
    files = [moved.results.files(key) for key in moved.results.finished]
    assert len(files) == len(study.plan.stages)
    assert all(path.is_relative_to(new) for path in files)
    assert not (tmp_path / "copy").exists()
    assert {path: path.stat().st_mtime_ns for path in study.store.root.rglob("*")} == before


def test_an_archive_makes_the_same_report_and_a_run_computes_what_it_lacks(
    study: Study, folder: Path, tmp_path: Path
) -> None:
    path, kept, store = str(folder / "small.yaml"), str(tmp_path / "kept.tar.xz"), tmp_path / "runs"
    command(folder, "archive", path, kept)
    command(folder, "report", path, "--out", str(tmp_path / "one"))
    command(folder, "report", path, "--out", str(tmp_path / "two"), "--archive", kept)
    command(store.parent, "restore", path, kept)
    command(store.parent, "report", path, "--out", str(tmp_path / "three"))
    one, *others = (tmp_path / name for name in ("one", "two", "three"))
    files = sorted(file.name for file in one.iterdir())
    for other in others:
        assert sorted(file.name for file in other.iterdir()) == files
        assert all((one / file).read_bytes() == (other / file).read_bytes() for file in files)
    restored = harness.load(path, store=store).run()
    assert restored.last_run.computed == []
    kinds = {key: stage.kind for key, stage in study.plan.stages.items()}
    longer = harness.load(path, "seeds.pretrain=1", "seeds.finetune=2", store=store)
    longer.run(executor="serial")
    computed = longer.last_run.computed
    again = sorted(kinds[key] for key in computed if key in kinds)
    assert again == ["pretrain", "pretrain", "tokenize"]  # not the tokenizer, trials and scores
    assert len(computed) - len(again) == 4
    assert not any(one.left_out for one in longer.results.finished.values())


def test_a_damaged_model_is_computed_again(study: Study, folder: Path) -> None:
    more = ["seeds.finetune=2", "evaluate.tasks=[micro-sst2]"]
    wider = harness.load(folder / "small.yaml", *more, store=folder / "runs")
    key = study.plan.pretrain_keys["static", 0]
    stored = wider.store.fetch(wider.results.finished[key])
    assert stored is not None
    weights = next(stored.rglob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-4] + b"oops")
    wider.run(executor="serial")
    assert key in wider.last_run.computed
    assert not wider.last_run.failed
    assert wider.store.fetch(wider.results.finished[key]) is not None


def test_a_damaged_input_of_everything_that_is_left_is_computed_again(folder: Path) -> None:
    """No other stage could run meanwhile."""
    store, path = folder / "damaged", folder / "small.yaml"
    sets = ["grid={}", "expect=[]", "sweep={}", "seeds.pretrain=1", "evaluate.tasks=[micro-sst2]"]
    first = harness.load(path, *sets, store=store).run(executor="serial")
    (key,) = first.plan.pretrain_keys.values()
    stored = first.store.files(first.results.finished[key])
    next(stored.rglob("*.safetensors")).unlink()
    again = harness.load(path, *sets, "seeds.finetune=2", store=store)
    again.run(executor="serial")
    assert again.plan.stages[again.last_run.computed[0]].kind == "pretrain"
    assert again.results.finished.keys() == again.plan.stages.keys()


def test_a_failed_stage_fails_alone(folder: Path) -> None:
    """A learning rate of 1e30 diverges; the other arm goes on, and the table shows a gap."""
    rates = "grid={pretrain.optimizer.learning_rate: [1e-3, 1e30]}"
    path = folder / "small.yaml"
    sets = [rates, "expect=[]", "sweep={}", "seeds.pretrain=1", "evaluate.tasks=[micro-sst2]"]
    study = harness.load(path, *sets, store=folder / "failing")
    with pytest.raises(harness.StagesFailedError, match=r"pretrain .*1e\+30.*not finite"):
        study.run(executor="serial")
    (reason,) = study.last_run.failed.values()
    assert "not finite" in reason
    assert set(study.scores().arm) == {"learning_rate=0.001"}
    table = study.leaderboard().set_index("arm")
    missing = {"learning_rate=0.001": False, "learning_rate=1e+30": True}
    assert table["average"].isna().to_dict() == missing
    arguments = ["status", str(path), "--store", str(folder / "failing")]
    for one in sets:
        arguments += ["--set", one]
    status = CliRunner().invoke(app, arguments).output
    assert "failed: FloatingPointError" in status
    assert "blocked" in status


@pytest.mark.parametrize(
    "kills",
    [
        [(4, False)],
        pytest.param([(1, True), (4, False)], marks=pytest.mark.campaign),  # each loads for seconds
    ],
    ids=len,
)
def test_a_killed_run_is_resumed(tmp_path: Path, kills: list[tuple[int, bool]]) -> None:
    """SIGKILL after a number of stages, with or without the workers, which must notice by
    themselves: the scores are equal, and no finished stage is computed again."""
    path, store = tmp_path / "killed.yaml", tmp_path / "killed"
    smaller = EXPERIMENT.replace("seeds: {pretrain: 2", "seeds: {pretrain: 1")
    path.write_text(f"{smaller.partition('sweep:')[0]}compute: {{threads: 1}}\n")
    for least, whole_group in kills:
        due = partial(has_finished, store, least)
        assert kill_when(due, str(path), store, whole_group, "--jobs", "1")
    before, whole = num_finished(store), harness.load(path, store=tmp_path / "whole")
    whole.run(executor="serial")
    assert 4 <= before < len(whole.plan.stages)
    broken = harness.load(path, store=store).run(executor="serial")
    assert not started_again(store)
    assert not broken.last_run.failed
    assert len(broken.last_run.computed) < len(whole.plan.stages)
    pd.testing.assert_frame_equal(broken.scores(), whole.scores())
    pd.testing.assert_frame_equal(shown(broken), shown(whole))
    assert shown(whole)["status"].eq("FINISHED").all()


def has_finished(store: Path, num_stages: int) -> bool:
    return num_finished(store) >= num_stages


def test_bad_input_ends_with_exit_code_2(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(EXPERIMENT.replace("nano", "nanno"))
    result = CliRunner().invoke(app, ["plan", str(path)])
    assert result.exit_code == 2
    assert "bad.yaml:6" in result.output
    assert "Traceback" not in result.output


def test_the_snippets_of_the_statistics_docs_run(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the arms and columns of this study; the mean of the columns is that of the table."""
    text = (ROOT / "docs" / "statistics.md").read_text()
    blocks = re.findall(r"(?:^    .*\n|^\n(?=    ))+", text, re.M)
    code = "".join(dedent(block) for block in blocks if "import " in block)
    for written, here in {
        "roberta": "dynamic",
        "bert": "static",
        'micro-rte", "validation/accuracy': 'micro-stsb", "validation/spearman',
    }.items():
        assert written in code
        code = code.replace(written, here)
    monkeypatch.setattr(harness, "load", lambda path: study)
    found: dict[str, Any] = {}
    exec(code, found)
    means = study.table("mean_of_columns").to_frame().set_index("arm")["average"]
    drawn = np.mean(found["cells"], axis=0)
    assert 100 * drawn[0] == pytest.approx(means["dynamic"] - means["static"])
