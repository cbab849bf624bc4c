"""After any flipped bit, every number of a store is right, or absent with a reason."""

from collections import Counter
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

import harness
from benchmarks.store_damage import ABSENT, RIGHT, campaign, flip, outcome, read, restore
from harness.analysis.recording import record_results
from harness.study import Study
from harness.tasks import TASKS
from harness.tasks.load_examples import load_examples
from tests.recorded_runs import record_run

EXPERIMENT = """
name: damaged
question: Is a number right, or absent?
pretrain: {recipe: bert, size: nano, tokenizer: {vocab_size: 1000}, budget: {tokens: 100_000}}
grid: {pretrain.objective.sentence_pair: [nsp, none]}
seeds: {pretrain: 2}
evaluate: {suite: micro-glue-v1, tasks: [micro-sst2]}
"""
TASK = TASKS["micro-sst2"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A store with four fine-tuning runs and their experiment."""
    root = tmp_path_factory.mktemp("damaged")
    (root / "damaged.yaml").write_text(EXPERIMENT)
    study = harness.load(root / "damaged.yaml", store=root / "runs")
    examples, rng = load_examples(TASK, TASK.evaluation[0]), np.random.default_rng(0)
    for run in study.plan.finetune_runs:
        answers = np.where(rng.random(len(examples.labels)) < 0.7, examples.labels, 0)
        record_run(study, run, TASK, examples, answers)
    record_results(study.results)
    return study


def test_a_flipped_bit_makes_no_number_wrong(study: Study) -> None:
    outcomes = campaign(study.plan, study.folder, flips=6, seed=0)
    found = Counter[str]()
    for counts_ in outcomes.values():
        found.update(counts_)
    assert found.total() == 6 and found.keys() <= {RIGHT, ABSENT}


@pytest.mark.parametrize("file", ["predictions.parquet", "results.parquet"])
def test_a_damaged_file_is_noticed(
    study: Study, tmp_path: Path, file: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Ranks lack its counts, or a board its experiment."""
    expected = read(study.plan, study.folder)
    copytree(study.folder, tmp_path / "intact")
    path = next((study.folder / "artifacts").rglob(file))
    flip(path, 4 * path.stat().st_size)
    assert outcome(study.plan, study.folder, expected) in (RIGHT, ABSENT)
    shown = read(study.plan, study.folder)
    if file == "results.parquet":
        assert "experiment damaged is left out" in caplog.text
        assert not shown.board.rows and expected.board.rows
    else:
        assert len(shown.scores) == len(expected.scores) - 1  # marked, to be computed again
    restore(study.folder, tmp_path / "intact")
