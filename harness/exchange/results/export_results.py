"""Finished runs as two parquet files: scores and examples."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.analysis.frames.scores import scores_frame as measured_scores
from harness.analysis.results import Results, stage_counts
from harness.core.files import atomic_path
from harness.exchange.results.schema import (
    EXAMPLES,
    SCORES,
    check_scores,
    examples_path,
    suite_version,
)
from harness.plan.costs import Cost, pretraining_cost
from harness.plan.protocol import protocol_digest, protocol_text, recorded_protocols
from harness.pretraining.recipes.pretrain import Pretrain
from harness.store.recorded import RecordedExperiment
from harness.store.store import StageResult, Store
from harness.tasks.scores import GROUPS, LABELS, PREDICTIONS, load_predictions, plain

SOURCE = "pretraining-harness"
UNKNOWN = Cost(None, None, None, None)
RUN = ["experiment", "arm", "task", "pretrain_seed", "finetune_seed", "key"]


@dataclass(frozen=True)
class FinishedRuns:
    """The finished runs of an experiment."""

    scores: pd.DataFrame
    """`harness.store.recorded.SCORE_COLUMNS`."""
    protocols: Mapping[str, str]
    """Arm to its protocol as JSON."""
    costs: Mapping[str, Cost]
    """Arm to the cost of one pretraining run."""
    store: Store


def runs_of_results(results: Results) -> FinishedRuns:
    """The finished runs of a declared experiment."""
    experiment, lengths = results.experiment, results.own_lengths
    sweep, world = experiment.sweep.model_dump(mode="json"), experiment.seeds.world
    protocols = {
        arm.name: protocol_text(
            arm.evaluate.model_dump(mode="json"), sweep, lengths.get(arm.name), world
        )
        for arm in results.plan.arms
    }
    return FinishedRuns(results.get(measured_scores), protocols, results.plan.costs, results.store)


def runs_of_recorded(experiment: RecordedExperiment, store: Store) -> FinishedRuns:
    """The runs that were finished when an experiment was last run; needs no experiment file."""
    return FinishedRuns(
        experiment.scores,
        recorded_protocols(experiment.spec),
        {name: _cost(arm["pretrain"]) for name, arm in experiment.spec["arms"].items()},
        store,
    )


def _cost(pretrain: Mapping[str, object]) -> Cost:
    """The cost of a recorded run; unknown if its settings are no longer valid."""
    try:
        return pretraining_cost(Pretrain.model_validate(pretrain))
    except ValueError:
        return UNKNOWN


def export_results(
    experiments: Sequence[FinishedRuns],
    path: Path,
    source: str = SOURCE,
    progress: Callable[[Sequence[FinishedRuns]], Iterable[FinishedRuns]] = iter,
) -> tuple[int, int]:
    """Writes the scores of finished runs to `path` and their examples beside it.

    Args:
        source: who measured.
        progress: wraps the iteration over experiments, whose examples are most of the work.

    Returns:
        Numbers of scores and of examples.

    Raises:
        ValueError: `path` does not end with .parquet, nothing is finished, or `check_scores` fails.
    """
    if path.suffix != ".parquet":
        raise ValueError(f"{path} must be a file that ends with .parquet")
    finished = [one for one in experiments if len(one.scores)]
    if not finished:
        raise ValueError("nothing is finished in these experiments: run them first")
    path.parent.mkdir(parents=True, exist_ok=True)
    scores = pd.concat(scores_frame(one, source) for one in finished)
    check_scores(path, scores)
    examples = (examples_frame(one, source) for one in progress(finished))
    with atomic_path(path) as first, atomic_path(examples_path(path)) as second:
        return _save([scores], SCORES, first), _save(examples, EXAMPLES, second)


def _save(frames: Iterable[pd.DataFrame], schema: pa.Schema, path: Path) -> int:
    """Writes frame by frame, since all examples of a store may not fit into memory.

    Returns:
        Number of rows.
    """
    rows = 0
    with pq.ParquetWriter(path, schema) as file:
        for frame in frames:
            file.write_table(pa.Table.from_pandas(frame, schema=schema, preserve_index=False))
            rows += len(frame)
    return rows


def scores_frame(measured: FinishedRuns, source: str = SOURCE) -> pd.DataFrame:
    """One row per arm, task, split, metric and seeds, with the columns of SCORES."""
    protocols, costs = measured.protocols, measured.costs
    frame = measured.scores.rename(columns={"key": "stage"})
    arms = frame["arm"]
    frame = frame.assign(
        suite_version=frame["suite"].map(suite_version),
        protocol=arms.map(protocols),
        protocol_digest=arms.map({arm: protocol_digest(t) for arm, t in protocols.items()}),
        budget_flops=arms.map({arm: cost.flops for arm, cost in costs.items()}),
        budget_tokens=arms.map({arm: cost.tokens for arm, cost in costs.items()}),
        parameters=arms.map({arm: cost.parameters for arm, cost in costs.items()}),
        source=source,
        harness_version=version("pretraining-harness"),
    )
    integers = ["suite_version", "budget_tokens", "parameters"]
    return frame.astype(dict.fromkeys(integers, "Int64"))[SCORES.names]


def examples_frame(measured: FinishedRuns, source: str = SOURCE) -> pd.DataFrame:
    """One row per example of every run that is still in the store, with the columns of EXAMPLES.

    Raises:
        ValueError: files of a run are damaged.
    """
    runs = measured.scores[RUN].drop_duplicates()
    store, records = measured.store, measured.store.finished(runs["key"])
    frames = [
        _of_run(records[run["key"]], store).assign(**run, source=source)
        for run in (dict(zip(RUN, row, strict=True)) for row in runs.itertuples(index=False))
        if run["key"] in records
    ]
    return pd.concat([pd.DataFrame(columns=EXAMPLES.names), *frames])[EXAMPLES.names]


def _of_run(stage: StageResult, store: Store) -> pd.DataFrame:
    predictions = load_predictions(store.files(stage) / PREDICTIONS)
    counts = stage_counts(store, stage)
    group = predictions["group"] if "group" in predictions else pd.Series(None, predictions.index)
    texts = [
        text
        for split, rows in predictions.groupby("split", sort=False)
        for text in _counts_of(str(split), len(rows), counts)
    ]
    return pd.DataFrame(
        {
            "split": predictions["split"],
            "index": predictions["index"],
            "group": group.astype("string"),
            "label": predictions["label"].map(_json),
            "prediction": predictions["prediction"].map(_json),
            "counts": texts,
        }
    )


def _counts_of(
    split: str, num_examples: int, counts: Mapping[str, np.ndarray]
) -> Iterator[str | None]:
    """For each example, its counts as JSON, of the metrics that are sums over examples."""
    of_split = {
        name.partition("/")[2]: array
        for name, array in counts.items()
        if name.startswith(f"{split}/") and not name.endswith((f"/{LABELS}", f"/{GROUPS}"))
    }
    single = {name: array for name, array in of_split.items() if len(array) == num_examples}
    for row in range(num_examples):
        found = {name: [float(x) for x in array[row]] for name, array in single.items()}
        yield json.dumps(found) if found else None


def _json(value: Any) -> str:
    return json.dumps(plain(value))
