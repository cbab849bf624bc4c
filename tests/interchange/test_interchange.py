"""Results as files: what leaves comes back as it was, and what is wrong is one line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness import interchange, leaderboard
from harness.boards import recorded
from harness.experiment import Evaluate
from harness.interchange import (
    EXAMPLES,
    SCORES,
    examples_path,
    protocol_digest,
    scores_frame,
    with_imports,
)
from harness.interchange.schema import protocol_text, suite_version
from harness.study import Study
from harness.sweep import Sweep
from harness.tasks.scoring import save_counts
from harness.tracking import Store

EXPERIMENT = """
name: two
question: Which is better?
pretrain: {recipe: bert, size: nano, tokenizer: {vocab_size: 1000}, budget: {tokens: 100_000}}
grid: {pretrain.objective.pair: [nsp, none]}
seeds: {pretrain: 2}
evaluate: {suite: micro-glue-v1, tasks: [micro-sst2]}
"""
LABELS = np.array([0.0, 1.0, 1.0, 0.0])


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """With one finished run of an arm's two."""
    (tmp_path / "two.yaml").write_text(EXPERIMENT)
    study = Study.load(tmp_path / "two.yaml", (), tmp_path / "runs")
    out = tmp_path / "out"
    out.mkdir()
    right = np.array([1.0, 1.0, 0.0, 1.0])
    frame = pd.DataFrame({"split": "validation", "index": range(4), "label": LABELS})
    frame.assign(prediction=LABELS).to_parquet(out / "predictions.parquet")
    save_counts(out / "counts.npz", {"validation": {"accuracy": np.c_[right, np.ones(4)]}})
    cell = next(cell for cell in study.plan.cells if cell.arm == "none")
    metrics = {"validation/accuracy": 0.75, "seconds": 1.0}
    study.store.record(cell.key, "finetune", "x", {}, metrics, out)
    return study


@pytest.fixture
def file(study: Study, tmp_path: Path) -> Path:
    path = tmp_path / "results.parquet"
    interchange.write([interchange.of_study(study)], path, source="lab x")
    return path


def rewritten(path: Path, schema: pa.Schema = SCORES, **changes: Any) -> Path:
    frame = pd.read_parquet(path).assign(**changes)
    pq.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False), path)
    return path


def test_a_score_has_all_that_the_schema_says(file: Path) -> None:
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


def test_what_a_store_recorded_is_written_as_its_experiment_is(
    study: Study, file: Path, tmp_path: Path
) -> None:
    """With no experiment file at hand; a score whose run is lost has no examples."""
    study._record()
    whole = tmp_path / "whole.parquet"
    (experiment,) = recorded(study.store)
    told = interchange.of_store(experiment, study.store)
    assert interchange.write([told], whole, source="lab x") == (1, 4)
    assert pq.read_table(whole).equals(pq.read_table(file))
    assert pq.read_table(examples_path(whole)).equals(pq.read_table(examples_path(file)))
    study.store.forget(next(iter(study.records.values())))
    assert interchange.write([told], whole) == (1, 0)


def test_what_can_no_longer_be_declared_has_no_budget(study: Study) -> None:
    study._record()
    (experiment,) = recorded(study.store)
    experiment.spec["arms"]["none"]["pretrain"]["size"] = {"width": "gone"}
    told = interchange.of_store(experiment, study.store)
    frame = scores_frame(told)
    assert frame["budget_flops"].isna().all() and frame["budget_tokens"].isna().all()
    assert frame["value"].tolist() == [0.75]


def test_every_example_has_its_label_prediction_and_counts(file: Path) -> None:
    frame = pd.read_parquet(examples_path(file))
    assert frame["index"].tolist() == [0, 1, 2, 3]
    assert [json.loads(label) for label in frame["label"]] == LABELS.tolist()
    counts = [json.loads(text)["accuracy"] for text in frame["counts"]]
    assert np.sum(counts, axis=0).tolist() == [3.0, 4.0]  # of which the accuracy is the ratio


def test_what_leaves_comes_into_another_store_as_it_was(file: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    assert interchange.read(file, other) == 1
    pd.testing.assert_frame_equal(interchange.stored(other), pd.read_parquet(file))
    (folder,) = Store(tmp_path / "other").imports()
    kept = pd.read_parquet(folder / "examples.parquet")
    pd.testing.assert_frame_equal(kept, pd.read_parquet(examples_path(file)))


def test_imports_are_no_results_of_this_store(file: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    interchange.read(file, other)
    assert other.finished() == {} and other.experiments() == {}


def test_the_same_results_are_not_taken_twice(file: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    interchange.read(file, other)
    with pytest.raises(ValueError, match="were imported before: two, none, micro-sst2"):
        interchange.read(file, other)
    assert len(other.imports()) == 1


def spec(**protocol: Any) -> dict[str, Any]:
    evaluate = Evaluate(protocol=protocol).model_dump(mode="json")
    sweep = Sweep().model_dump(mode="json")
    return {"experiment": {"sweep": sweep}, "arms": {"a": {"evaluate": evaluate}}}


def test_imported_rows_stand_apart_with_their_source(file: Path, tmp_path: Path) -> None:
    other = Store(tmp_path / "other")
    interchange.read(file, other)
    nothing = pd.read_parquet(file).iloc[:0]
    table = leaderboard.build(nothing, "micro-glue-v1")
    same = with_imports(table, other, [spec()])
    assert same.rows == ()
    (block,) = same.published
    assert block.comparable and block.rows[0].rank is None
    assert "imported from lab x" in leaderboard.render(same, "md")
    unlike = with_imports(table, other, [spec(pooling="mean")])
    assert not unlike.published[0].comparable
    assert "Another protocol than" in leaderboard.render(unlike, "md")
    both = with_imports(table, other, [spec(), spec(pooling="mean")])
    assert "several protocols" in both.published[0].reason
    assert ",imported from lab x," in leaderboard.render(same, "csv")


def test_a_board_without_imports_stays_as_it_is(tmp_path: Path) -> None:
    nothing = SCORES.empty_table().to_pandas()
    table = leaderboard.build(nothing, "micro-glue-v1")
    assert with_imports(table, Store(tmp_path / "runs"), []) is table


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"value": 75.0}, "divide by 100"),
        ({"task": "micro-sst3"}, "in micro-glue-v1 the task"),
        ({"metric": "acuracy"}, "the metric"),
        ({"source": " "}, "source must say"),
        ({"protocol": "none"}, "protocol must be JSON"),
        ({"protocol": "{}"}, "protocol_digest must be that of"),
    ],
)
def test_what_would_stand_wrong_is_one_line(
    changes: dict[str, Any], said: str, file: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=said) as error:
        interchange.read(rewritten(file, **changes), Store(tmp_path / "other"))
    assert "\n" not in str(error.value)


def test_files_of_another_shape_are_one_line(file: Path, tmp_path: Path) -> None:
    store, table = Store(tmp_path / "other"), pq.read_table(file)
    with pytest.raises(ValueError, match="there is no file"):
        interchange.read(tmp_path / "none.parquet", store)
    bad = tmp_path / "bad.parquet"
    bad.write_text("arm,value\n")
    with pytest.raises(ValueError, match="must be a parquet file"):
        interchange.read(bad, store)
    pq.write_table(table.replace_schema_metadata({}), bad)
    with pytest.raises(ValueError, match="schema version 1"):
        interchange.read(bad, store)
    pq.write_table(table.drop_columns(["metric"]), bad)
    with pytest.raises(ValueError, match="lacks metric"):
        interchange.read(bad, store)
    seeds = table.column_names.index("pretrain_seed")
    pq.write_table(table.set_column(seeds, "pretrain_seed", pa.array(["x"])), bad)
    with pytest.raises(ValueError, match="not of its type"):
        interchange.read(bad, store)
    pq.write_table(pa.concat_tables([table, table]), bad)
    with pytest.raises(ValueError, match="there twice"):
        interchange.read(bad, store)
    pq.write_table(table.slice(0, 0), bad)
    with pytest.raises(ValueError, match="has no row"):
        interchange.read(bad, store)


def test_examples_must_be_of_scored_runs(file: Path, tmp_path: Path) -> None:
    rewritten(examples_path(file), EXAMPLES, arm="nsp")
    with pytest.raises(ValueError, match="without a score"):
        interchange.read(file, Store(tmp_path / "other"))


def test_nothing_to_write_is_said(tmp_path: Path, study: Study) -> None:
    with pytest.raises(ValueError, match=r"ends with \.parquet"):
        interchange.write([interchange.of_study(study)], tmp_path / "x.csv")
    study.folder = tmp_path / "empty"
    del study.__dict__["store"]
    with pytest.raises(ValueError, match="nothing is finished"):
        interchange.write([interchange.of_study(study)], tmp_path / "x.parquet")


def test_a_protocol_is_known_by_what_it_says() -> None:
    assert protocol_digest('{"a": 1, "b": 2}') == protocol_digest('{"b":2,"a":1}')
    assert protocol_text({"adaptation": {"x": None, "y": 1}}, {"trials": 0}) == (
        '{"adaptation": {"y": 1}}'
    )
    assert protocol_text({}, {"trials": 2}) == '{"sweep": {"trials": 2}}'
    assert (suite_version("glue-v12"), suite_version("mine")) == (12, None)
