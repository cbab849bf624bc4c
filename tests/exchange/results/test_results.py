"""Results as files: a round trip between stores, and one clear line for each wrong file."""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from harness.analysis.columns import part_of_average
from harness.analysis.recording import record_results
from harness.analysis.results import Results
from harness.cli.app import app
from harness.exchange.results.export_results import (
    _counts_of,
    export_results,
    runs_of_recorded,
    runs_of_results,
    scores_frame,
)
from harness.exchange.results.import_results import import_results, remove_imported
from harness.exchange.results.schema import (
    EXAMPLES,
    SCORES,
    examples_path,
    suite_version,
)
from harness.experiment.evaluation import Evaluate
from harness.finetuning.search.sweep import Sweep
from harness.leaderboard.boards import board_table
from harness.leaderboard.build import build
from harness.leaderboard.imported import imported_blocks
from harness.leaderboard.render import render
from harness.leaderboard.table import Score, Table
from harness.models import SIZES
from harness.plan.protocol import protocol_digest, protocol_text
from harness.pretraining.recipes.small_sizes import evaluation_settings
from harness.store.entries import IMPORT
from harness.store.recorded import imported_examples, imported_scores, recorded_experiments
from harness.store.run_files import local_path
from harness.store.store import Store
from harness.store.verification import find_damage, repair
from harness.study import Study
from harness.tasks import SUITES
from harness.tasks.scores import save_counts

EXPERIMENT = """
name: two
question: Which is better?
pretrain: {recipe: bert, size: nano, tokenizer: {vocab_size: 1000}, budget: {tokens: 100_000}}
grid: {pretrain.objective.sentence_pair: [nsp, none]}
seeds: {pretrain: 2}
evaluate: {suite: micro-glue-v1, tasks: [micro-sst2]}
"""
LABELS = np.array([0.0, 1.0, 1.0, 0.0])


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """With one finished run."""
    (tmp_path / "two.yaml").write_text(EXPERIMENT)
    study = Study.load(tmp_path / "two.yaml", (), tmp_path / "runs")
    out = tmp_path / "out"
    out.mkdir()
    right = np.array([1.0, 1.0, 0.0, 1.0])
    frame = pd.DataFrame({"split": "validation", "index": range(4), "label": LABELS})
    frame.assign(prediction=LABELS).to_parquet(out / "predictions.parquet")
    save_counts(out / "counts.npz", {"validation": {"accuracy": np.c_[right, np.ones(4)]}})
    run = next(run for run in study.plan.finetune_runs if run.arm == "none")
    metrics = {"validation/accuracy": 0.75, "seconds": 1.0}
    study.store.record(run.key, "finetune", "x", {}, metrics, out)
    return study


@pytest.fixture
def file(study: Study, tmp_path: Path) -> Path:
    path = tmp_path / "results.parquet"
    export_results([runs_of_results(study.results)], path, source="lab x")
    return path


def rewritten(path: Path, schema: pa.Schema = SCORES, **changes: Any) -> Path:
    frame = pd.read_parquet(path).assign(**changes)
    pq.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False), path)
    return path


def test_a_score_has_every_column_of_the_schema(file: Path) -> None:
    assert pq.read_schema(file).equals(SCORES, check_metadata=True)
    assert pq.read_schema(examples_path(file)).equals(EXAMPLES, check_metadata=True)
    (row,) = pd.read_parquet(file).to_dict("records")
    assert (row["arm"], row["task"], row["metric"], row["value"]) == (
        "none",
        "micro-sst2",
        "accuracy",
        0.75,
    )
    assert (row["suite"], row["suite_version"], row["source"]) == ("micro-glue-v1", 1, "lab x")
    assert json.loads(row["protocol"])["adaptation"] == {"kind": "full"}
    assert row["protocol_digest"] == protocol_digest(row["protocol"])
    assert row["budget_tokens"] >= 100_000 and row["budget_flops"] > 0 and row["parameters"] > 0


def test_an_arm_is_compared_with_a_recorded_one_by_name(study: Study, tmp_path: Path) -> None:
    run = next(run for run in study.plan.finetune_runs if run.arm == "nsp")
    out = tmp_path / "out"
    frame = pd.read_parquet(out / "predictions.parquet")
    frame.assign(prediction=1 - LABELS).to_parquet(out / "predictions.parquet")
    wrong = np.c_[np.zeros(4), np.ones(4)]
    save_counts(out / "counts.npz", {"validation": {"accuracy": wrong}})
    metrics = {"validation/accuracy": 0.0, "seconds": 1.0}
    study.store.record(run.key, "finetune", "x", {}, metrics, out)
    record_results(study.results)
    found = study.compare("none", "two:nsp")
    (flips,) = found.flips.values()
    assert (flips.only_first, flips.only_second, flips.examples) == (4, 0, 4)
    assert found.means(0) == (75, 0) and found.differences["average"]
    with pytest.raises(ValueError, match="two different arms must be given, not two: none twice"):
        study.compare("none", "two:none")


def test_counts_of_examples_in_groups_are_exported_one_by_one() -> None:
    counts = {"dev/accuracy": np.eye(2), "dev/groups": np.zeros(2, int), "dev/labels": np.ones(32)}
    assert [*_counts_of("dev", 2, counts)] == [
        '{"accuracy": [1.0, 0.0]}',
        '{"accuracy": [0.0, 1.0]}',
    ]


def test_a_recorded_experiment_is_exported_like_its_file(
    study: Study, file: Path, tmp_path: Path
) -> None:
    """Needs no experiment file; a score whose run is gone has no examples."""
    record_results(study.results)
    whole = tmp_path / "whole.parquet"
    (experiment,) = recorded_experiments(study.store)
    runs = runs_of_recorded(experiment, study.store)
    assert export_results([runs], whole, source="lab x") == (1, 4)
    assert pq.read_table(whole).equals(pq.read_table(file))
    assert pq.read_table(examples_path(whole)).equals(pq.read_table(examples_path(file)))
    study.store.forget(next(iter(study.results.finished.values())))
    assert export_results([runs], whole) == (1, 0)


def test_a_model_s_own_length_is_part_of_its_protocol(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = runs_of_results(study.results).protocols
    monkeypatch.setattr(Results, "own_lengths", {"none": 256})
    record_results(study.results)
    (experiment,) = recorded_experiments(study.store)
    for runs in (runs_of_results(study.results), runs_of_recorded(experiment, study.store)):
        assert runs.protocols["nsp"] == before["nsp"]
        own = json.loads(runs.protocols["none"])["protocol"]
        assert own["own_max_sequence_length"] == 256
        assert protocol_digest(runs.protocols["none"]) != protocol_digest(before["none"])


def test_settings_that_are_no_longer_valid_have_no_budget(study: Study, tmp_path: Path) -> None:
    record_results(study.results)
    (experiment,) = recorded_experiments(study.store)
    experiment.spec["arms"]["none"]["pretrain"]["size"] = {"width": "gone"}
    runs = runs_of_recorded(experiment, study.store)
    frame = scores_frame(runs)
    assert frame["budget_flops"].isna().all() and frame["budget_tokens"].isna().all()
    assert frame["value"].tolist() == [0.75]
    assert export_results([runs], tmp_path / "all.parquet") == (1, 4)
    (row,) = import_results(tmp_path / "all.parquet", Store(tmp_path / "other")).scores.itertuples()
    assert pd.isna([row.budget_flops, row.budget_tokens, row.parameters]).all()


def test_every_example_has_its_label_prediction_and_counts(file: Path) -> None:
    frame = pd.read_parquet(examples_path(file))
    assert frame["index"].tolist() == [0, 1, 2, 3]
    assert [json.loads(label) for label in frame["label"]] == LABELS.tolist()
    counts = [json.loads(text)["accuracy"] for text in frame["counts"]]
    assert np.sum(counts, axis=0).tolist() == [
        3.0,
        4.0,
    ]  # correct and all


def test_an_import_restores_scores_and_examples(file: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    assert len(import_results(file, other).scores) == 1
    kept_scores = imported_scores(other)
    assert kept_scores is not None
    pd.testing.assert_frame_equal(kept_scores, pd.read_parquet(file))
    (folder,) = Store(tmp_path / "other").imports()
    kept = pd.read_parquet(folder / "examples.parquet")
    pd.testing.assert_frame_equal(kept, pd.read_parquet(examples_path(file)))


def test_imports_are_not_results_of_this_store(file: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    import_results(file, other)
    assert other.finished() == {} and other.experiments() == {}


def test_the_same_results_are_not_imported_twice(file: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    import_results(file, other)
    with pytest.raises(ValueError, match="were imported before: two, none, micro-sst2"):
        import_results(file, other)
    assert len(other.imports()) == 1


def test_an_import_leaves_out_the_scores_that_the_store_has(
    study: Study, file: Path, tmp_path: Path
) -> None:
    other, line = Store(tmp_path / "other"), "1 score imported, 1 left out, as the store has them\n"
    import_results(file, other)
    more = with_another_seed(file, tmp_path / "more.parquet")
    command = ["results", "import", str(more), "--store", str(other.root)]
    assert CliRunner().invoke(app, command).stdout == f"{more}: {line}"
    kept, examples = imported_scores(other), imported_examples(other, "lab x", "two", "none")
    assert kept is not None and kept["pretrain_seed"].tolist() == [0, 1]
    assert examples.groupby("pretrain_seed").size().to_dict() == {0: 4, 1: 4}
    command[-1] = str(study.folder)  # which computed the other one itself
    assert CliRunner().invoke(app, command).stdout == f"{more}: {line}"


def test_a_file_replaces_all_earlier_imports_of_its_source(file: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "other")
    import_results(with_another_seed(file, tmp_path / "more.parquet"), store)
    _import_of_another_source(file, tmp_path, store)
    command = ["results", "import", str(rewritten(file, value=0.5)), str(examples_path(file))]
    done = CliRunner().invoke(app, [*command, "--replace", "--store", str(store.root)])
    assert done.stdout == f"{file}: 1 score imported\n"
    kept, examples = imported_scores(store), imported_examples(store, "lab x", "two", "none")
    assert kept is not None and kept["source"].tolist() == ["lab y", "lab x"]
    assert kept["value"].tolist() == [0.75, 0.5] and len(examples) == 4
    assert len(imported_examples(store, "lab y", "two", "none")) == 4


def test_files_of_one_command_do_not_replace_each_other(file: Path, tmp_path: Path) -> None:
    store, more = Store(tmp_path / "other"), with_another_seed(file, tmp_path / "more.parquet")
    import_results(more, store)
    rewritten(more, pretrain_seed=[2, 3], stage=None)
    examples_path(more).unlink()
    command = ["results", "import", str(rewritten(file, value=0.5)), str(more), "--replace"]
    assert CliRunner().invoke(app, [*command, "--store", str(store.root)]).exit_code == 0
    kept = imported_scores(store)
    assert kept is not None and kept["pretrain_seed"].tolist() == [0, 2, 3]
    assert len(imported_examples(store, "lab x", "two", "none")) == 4


def test_the_results_of_a_source_are_removed(file: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "other")
    with pytest.raises(ValueError, match="other has no imported results"):
        remove_imported("lab x", store)
    import_results(file, store)
    _import_of_another_source(file, tmp_path, store)
    with pytest.raises(ValueError, match="results 'lab z' is not known; did you mean 'lab "):
        remove_imported("lab z", store)
    command = ["results", "remove", "lab x", "--store", str(store.root)]
    assert CliRunner().invoke(app, command).stdout == "lab x: 1 score removed\n"
    kept = imported_scores(store)
    assert kept is not None and kept["source"].tolist() == ["lab y"]
    assert imported_examples(store, "lab x", "two", "none").empty
    assert len(import_results(file, store).scores) == 1
    assert len(imported_examples(store, "lab x", "two", "none")) == 4
    remove_imported("lab x", store), remove_imported("lab y", store)
    assert imported_scores(store) is None


@pytest.mark.parametrize("harm", ["file", "record"])
def test_replaced_and_removed_results_stay_out_after_damage(
    file: Path, tmp_path: Path, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(tmp_path / "other")
    import_results(file, store)
    import_results(rewritten(file, value=0.5), store, replace=True)
    _import_of_another_source(file, tmp_path, store)
    remove_imported("lab y", store)
    for run in store.runs.tagged(IMPORT)[1::2]:  # the replacement and the removal
        if harm == "file":
            for path in local_path(run.artifact_uri).rglob("*"):
                path.write_bytes(path.read_bytes() + b" ")
        else:
            with sqlite3.connect(store.runs.database) as tables:
                tables.execute(
                    "update runs set start_time = start_time + 1 where run_uuid = ?", [run.run_id]
                )
    again = Store(store.root)
    assert imported_scores(again) is None and imported_examples(again, "lab x", "two", "none").empty
    line = "import results.parquet is left out: {} is damaged; its sources are left out until they "
    line += "are imported again with --replace"
    what = "a file of it" if harm == "file" else "its record in mlflow.db"
    assert line.format(what) in caplog.messages
    assert repair(again, found := find_damage(again, [])) == found  # marking would undo the removal
    assert len(import_results(file, again, replace=True).scores) == 1
    assert "import results.parquet" not in [one.name for one in find_damage(again, [])]


def _import_of_another_source(file: Path, folder: Path, store: Store) -> None:
    path = folder / "y.parquet"
    for one, to, schema in (
        (file, path, SCORES),
        (examples_path(file), examples_path(path), EXAMPLES),
    ):
        frame = pd.read_parquet(one).assign(source="lab y")
        pq.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False), to)
    import_results(path, store)


def test_a_new_score_of_imported_examples_does_not_repeat_them(file: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    import_results(file, other)
    import_results(rewritten(file, suite="mine", suite_version=None), other)
    assert len(imported_examples(other, "lab x", "two", "none")) == 4


@pytest.mark.parametrize("change", [{"value": 0.5}, {"value": None}])
def test_another_value_of_an_imported_score_is_refused(
    change: dict[str, Any], file: Path, tmp_path: Path
) -> None:
    other = Store(tmp_path / "other")
    import_results(file, other)
    more = with_another_seed(file, tmp_path / "more.parquet")
    with pytest.raises(ValueError, match="were imported before with another value or protocol"):
        import_results(rewritten(more, **change), other)
    assert len(other.imports()) == 1


def with_another_seed(file: Path, path: Path) -> Path:
    """The scores and examples of a file, and the same of another pretraining seed."""
    for one, to, schema in (
        (file, path, SCORES),
        (examples_path(file), examples_path(path), EXAMPLES),
    ):
        frame = pd.read_parquet(one)
        other = frame.assign(pretrain_seed=1, **{"stage": None} if schema is SCORES else {})
        both = pd.concat([frame, other])
        pq.write_table(pa.Table.from_pandas(both, schema=schema, preserve_index=False), to)
    return path


def spec(**protocol: Any) -> dict[str, Any]:
    of_size = evaluation_settings(SIZES["nano"])
    fields = {**of_size, "protocol": of_size["protocol"] | protocol}
    evaluate = Evaluate.read(fields).model_dump(mode="json")
    sweep = Sweep().model_dump(mode="json")
    return {"experiment": {"sweep": sweep}, "arms": {"a": {"evaluate": evaluate}}}


def test_of_two_imports_at_once_one_is_refused(file: Path, tmp_path: Path) -> None:
    stores = [Store(tmp_path / "other") for _ in range(3)]

    def try_import(store: Store) -> str:
        try:
            return f"{len(import_results(file, store).scores)} scores"
        except ValueError as error:
            return "before" if "were imported before" in str(error) else str(error)

    with ThreadPoolExecutor() as threads:
        found = sorted(threads.map(try_import, stores))
    assert found[1:] == ["before", "before"] and len(stores[0].imports()) == 1


def test_columns_are_cast_to_the_types_of_the_schema(file: Path, tmp_path: Path) -> None:
    table, store = pq.read_table(file), Store(tmp_path / "other")
    import_results(file, store)
    column = table.column_names.index("pretrain_seed")
    pq.write_table(table.set_column(column, "pretrain_seed", pa.array(["0"])), file)
    with pytest.raises(ValueError, match="imported before"):
        import_results(file, store)
    other = Store(tmp_path / "third")
    import_results(file, other)
    kept = imported_scores(other)
    assert kept is not None and kept["pretrain_seed"].tolist() == [0]


def test_a_store_does_not_import_its_own_results(study: Study, file: Path) -> None:
    with pytest.raises(ValueError, match="this store computed two, none, micro-sst2 itself"):
        import_results(file, study.store)


def test_both_files_are_replaced_or_neither(
    study: Study, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in file.parent.glob("*.parquet")}
    module = "harness.exchange.results.export_results"
    monkeypatch.setattr(f"{module}.examples_frame", None)  # cannot be called
    with pytest.raises(TypeError):
        export_results([runs_of_results(study.results)], file, source="later")
    assert {path.name: path.read_bytes() for path in file.parent.glob("*.parquet")} == before


def test_export_writes_nothing_that_import_would_refuse(study: Study, tmp_path: Path) -> None:
    one = runs_of_results(study.results)
    with pytest.raises(ValueError, match="a score is given twice"):
        export_results([one, one], tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="source must be a name"):
        export_results([one], tmp_path / "x.parquet", source="")
    assert not list(tmp_path.glob("x*"))


def test_the_commands(study: Study, tmp_path: Path) -> None:
    def call(*arguments: object) -> Result:
        return CliRunner().invoke(app, ["results", *map(str, arguments)])

    here, there, path = study.folder, tmp_path / "there", tmp_path / "x.parquet"
    done = call("export", path, tmp_path / "two.yaml", "--store", here, "--source", "lab x")
    assert (done.exit_code, done.stdout.splitlines()) == (
        0,
        [f"{path}: 1 score", f"{tmp_path / 'x.examples.parquet'}: 4 examples"],
    )
    done = call("import", path, "--store", there)
    assert (done.exit_code, done.stdout) == (0, f"{path}: 1 score imported\n")
    shutil.copyfile(path, tmp_path / "own.parquet")
    own = rewritten(tmp_path / "own.parquet", suite="mine-v1", suite_version=None)
    done = call("import", own, "--store", tmp_path / "own")
    assert done.exit_code == 0 and "mine-v1 is no shipped suite" in done.stdout
    for wrong, message in (
        (("import", path, "--store", there), "imported before"),
        (("export", path, "--store", here), "give experiment files or --all"),
        (("export", path, tmp_path / "two.yaml", "--all"), "give experiment files or --all"),
        (("export", path / "y.parquet", tmp_path / "two.yaml", "--store", here), str(path)),
        (("import", path, "--store", path), str(path)),
    ):
        done = call(*wrong)
        assert done.exit_code == 2, wrong
        assert message in done.stderr.replace("\n", ""), done.stderr


def test_a_variant_of_a_file_is_exported_under_its_name(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(f"{EXPERIMENT}variants: {{more: {{seeds.pretrain: 3}}}}\n")
    out = tmp_path / "x.parquet"
    arguments = ["results", "export", str(out), "--variant", "more", "--store", str(study.folder)]
    assert CliRunner().invoke(app, [*arguments, str(path)]).exit_code == 0
    assert pd.read_parquet(out)["experiment"].tolist() == ["two-more"]
    done = CliRunner().invoke(app, [*arguments, "--all"])
    assert done.exit_code == 2 and "--set and --variant are of files" in done.stderr


def test_the_command_exports_all_experiments(study: Study, tmp_path: Path) -> None:
    record_results(study.results)
    path = tmp_path / "x.parquet"
    arguments = ["results", "export", str(path), "--all", "--store", str(study.folder)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert len(pd.read_parquet(path)) == 1


def with_imports(table: Table, store: Store, measured: Sequence[dict[str, Any]]) -> Table:
    """The table with the imported results on its suite."""
    blocks = imported_blocks(table, store, measured)
    return replace(table, published=tuple(block.published for block in blocks))


def test_imported_rows_are_shown_apart_with_their_source(file: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    import_results(file, other)
    nothing = pd.read_parquet(file).iloc[:0]
    table = build(nothing, "micro-glue-v1")
    same = with_imports(table, other, [spec()])
    assert same.rows == ()
    (block,) = same.published
    assert block.comparable and block.rows[0].rank is None
    text = render(same, "md")
    assert "| none (imported from lab x) † |" in text
    (note,) = [line for line in text.splitlines() if line.startswith("- † Imported")]
    assert (
        "protocol.pooling max" in note and "adaptation.kind full" in note and not {*'{}"'} & {*note}
    )
    unlike = with_imports(table, other, [spec(pooling="mean")])
    assert not unlike.published[0].comparable
    assert "The protocol differs from" in render(unlike, "md")
    both = with_imports(table, other, [spec(), spec(pooling="mean")])
    assert "several protocols" in both.published[0].reason
    assert ",imported from lab x," in render(same, "csv")


def test_imported_rows_stand_in_a_board_of_some_tasks(file: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    import_results(file, other)
    (task,) = pd.read_parquet(file)["task"].unique()
    (block,) = board_table("micro-glue-v1", other, tasks=[task]).published
    (score,) = block.rows[0].scores
    assert score and block.rows[0].average == score
    missing = next(one for one in SUITES["micro-glue-v1"].tasks if one != task)
    assert not board_table("micro-glue-v1", other, tasks=[missing]).published


def test_imported_rows_are_averaged_like_the_measured_ones(file: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    import_results(file, other)
    table = build(pd.read_parquet(file).iloc[:0], "micro-glue-v1")

    def average(*names: str) -> Score | None:
        layout = part_of_average(table.layout, [c for c in table.columns if c.name in names])
        assert layout
        (block,) = with_imports(replace(table, layout=layout), other, [spec()]).published
        return block.rows[0].average

    assert average("SST-2") == Score(75.0, seeds=1)
    assert average("SST-2", "MRPC") is None  # it has no score on MRPC


def test_a_store_without_imports_has_no_blocks(tmp_path: Path) -> None:
    nothing = SCORES.empty_table().to_pandas()
    table = build(nothing, "micro-glue-v1")
    assert not imported_blocks(table, Store(tmp_path / "runs"), [])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"value": 75.0}, "divide by 100"),
        ({"task": "micro-sst3"}, "in micro-glue-v1 the task"),
        ({"metric": "acuracy"}, "the metric"),
        ({"metric": "bleu"}, "of micro-sst2 the metric"),
        ({"split": "dev"}, "of micro-sst2 the split"),
        ({"suite": "micro-glue"}, "the suite"),
        ({"suite_version": 7}, "suite_version of micro-glue-v1 must be 1 or null, but is 7"),
        ({"source": " "}, "source must be a name of 1 to 200 characters"),
        ({"arm": ""}, "arm must be a name of 1 to 200 characters"),
        ({"arm": "a\x1b[31mb"}, r"arm must be a name of visible characters, but has U\+001B"),
        ({"experiment": "\u202eevil"}, r"experiment .* has U\+202E \(RIGHT-TO-LEFT OVERRIDE\)"),
        ({"suite": "mine\nv1"}, r"suite must be a name of visible characters, but has U\+000A"),
        ({"stage": "a\tb"}, r"stage must be a name of visible characters"),
        ({"pretrain_seed": -1}, "pretrain_seed must be at least 0, but is -1"),
        ({"budget_tokens": -5}, "budget_tokens must be at least 0, but is -5"),
        (
            {
                "protocol": '{"a": "\\u001b"}',
                "protocol_digest": protocol_digest('{"a": "\\u001b"}'),
            },
            "protocol must have no control characters",
        ),
        ({"protocol": "none"}, "protocol must be a JSON object"),
        ({"protocol": "[1, 2]"}, "protocol must be a JSON object"),
        ({"protocol": "[" * 100_000}, "protocol must be a JSON object"),
        ({"protocol": "{}"}, "protocol_digest must be that of"),
    ],
)
def test_wrong_scores_are_refused_in_one_line(
    changes: dict[str, Any], message: str, file: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message) as error:
        import_results(rewritten(file, **changes), Store(tmp_path / "other"))
    assert "\n" not in str(error.value)


def test_files_of_another_format_are_refused(file: Path, tmp_path: Path) -> None:
    store, table = Store(tmp_path / "other"), pq.read_table(file)
    with pytest.raises(ValueError, match="there is no file"):
        import_results(tmp_path / "none.parquet", store)
    bad = tmp_path / "bad.parquet"
    bad.write_text("arm,value\n")
    with pytest.raises(ValueError, match="must be a parquet file"):
        import_results(bad, store)
    pq.write_table(table.replace_schema_metadata({}), bad)
    with pytest.raises(ValueError, match="schema version 1"):
        import_results(bad, store)
    pq.write_table(table.drop_columns(["metric"]), bad)
    with pytest.raises(ValueError, match="lacks metric"):
        import_results(bad, store)
    seeds = table.column_names.index("pretrain_seed")
    pq.write_table(table.set_column(seeds, "pretrain_seed", pa.array(["x"])), bad)
    with pytest.raises(ValueError, match="not of its type"):
        import_results(bad, store)
    pq.write_table(pa.concat_tables([table, table]), bad)
    with pytest.raises(ValueError, match="given twice"):
        import_results(bad, store)
    pq.write_table(table.slice(0, 0), bad)
    with pytest.raises(ValueError, match="has no row"):
        import_results(bad, store)


def test_examples_must_belong_to_a_score(file: Path, tmp_path: Path) -> None:
    rewritten(examples_path(file), EXAMPLES, arm="nsp")
    with pytest.raises(ValueError, match="without a score"):
        import_results(file, Store(tmp_path / "other"))
    rewritten(examples_path(file), EXAMPLES, arm="none", index=-1)
    with pytest.raises(ValueError, match="index must be at least 0, but is -1"):
        import_results(file, Store(tmp_path / "other"))


NO_COUNTS = "counts must be JSON of metrics with lists of numbers"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({"label": text}, "label must be JSON of") for text in ("{", '{"a": 1}', 20_000 * "[")),
        ({"prediction": f"[{10**400}]"}, "prediction must be JSON of a number, a text or a list"),
        *(({"counts": text}, NO_COUNTS) for text in ("inf", "3", "[1]", '"accuracy"', "NaN")),
        *(({"counts": f'{{"accuracy": {v}}}'}, NO_COUNTS) for v in ('"x"', "null", "1", "[]")),
        ({"counts": '{"accuracy": [1, "x"]}'}, NO_COUNTS),
        ({"counts": 20_000 * "["}, NO_COUNTS),
        ({"counts": '{"accuracy": [1]}'}, "counts of accuracy must be those of .* but are 1 in"),
        (
            {"counts": ['{"f1": [1, 1]}', '{"f1": [1, 1, 1]}', None, None]},
            "all examples of a run must have as many counts of f1, but they have 2 and 3",
        ),
    ],
)
def test_wrong_values_of_examples_are_refused_in_one_line(
    changes: dict[str, Any], message: str, file: Path, tmp_path: Path
) -> None:
    """A board that reads them would fail, with each of these results in the store."""
    rewritten(examples_path(file), EXAMPLES, **changes)
    with pytest.raises(ValueError, match=message) as error:
        import_results(file, Store(tmp_path / "other"))
    assert "\n" not in str(error.value) and len(str(error.value)) < 500
    assert imported_scores(Store(tmp_path / "other")) is None


def test_there_must_be_something_to_export(tmp_path: Path, study: Study) -> None:
    with pytest.raises(ValueError, match=r"ends with \.parquet"):
        export_results([runs_of_results(study.results)], tmp_path / "x.csv")
    study.folder = tmp_path / "empty"
    del study.__dict__["store"]
    with pytest.raises(ValueError, match="nothing is finished"):
        export_results([runs_of_results(study.results)], tmp_path / "x.parquet")


def test_the_digest_of_a_protocol_ignores_its_formatting() -> None:
    assert protocol_digest('{"a": 1, "b": 2}') == protocol_digest('{"b":2,"a":1}')
    assert protocol_text({"adaptation": {"x": None, "y": 1}}, {"trials": 0}) == (
        '{"adaptation": {"y": 1}}'
    )
    assert protocol_text({}, {"trials": 2}) == '{"sweep": {"trials": 2}}'
    assert (suite_version("glue-v12"), suite_version("mine")) == (12, None)
