"""An experiment's results as the two tables."""

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.interchange.schema import (
    EXAMPLES,
    SCORES,
    examples_path,
    protocol_digest,
    protocol_text,
    suite_version,
)
from harness.results.files import counts_reader, predictions_reader
from harness.tasks.scoring import LABELS

if TYPE_CHECKING:
    from harness.study import Study

SOURCE = "pretraining-harness"


def write(studies: Sequence["Study"], path: Path, source: str = SOURCE) -> tuple[int, int]:
    """Writes the scores of finished runs to `path` and their examples beside it.

    Returns:
        Numbers of scores and of examples.

    Raises:
        ValueError: `path` is no .parquet file, or nothing is finished.
    """
    if path.suffix != ".parquet":
        raise ValueError(f"{path} must be a file that ends with .parquet")
    scores = pd.concat([scores_frame(study, source) for study in studies])
    if not len(scores):
        raise ValueError("nothing is finished in these experiments: run them first")
    examples = pd.concat([examples_frame(study, source) for study in studies])
    _save(scores, SCORES, path)
    _save(examples, EXAMPLES, examples_path(path))
    return len(scores), len(examples)


def _save(frame: pd.DataFrame, schema: pa.Schema, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pandas(frame[schema.names], schema=schema, preserve_index=False)
    pq.write_table(table.replace_schema_metadata(schema.metadata), path)


def scores_frame(study: "Study", source: str = SOURCE) -> pd.DataFrame:
    """One row per arm, task, split, metric and seeds, with the columns of SCORES."""
    sweep = study.plan.experiment.sweep.model_dump(mode="json")
    protocols = {
        arm.name: protocol_text(arm.evaluate.model_dump(mode="json"), sweep)
        for arm in study.plan.arms
    }
    frame = study.results().rename(columns={"key": "stage"})
    costs = {arm: study.plan.costs[arm] for arm in protocols}
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
    whole = ["suite_version", "budget_tokens", "parameters"]
    return frame.astype(dict.fromkeys(whole, "Int64"))[SCORES.names]


def examples_frame(study: "Study", source: str = SOURCE) -> pd.DataFrame:
    """One row per example of every run, with the columns of EXAMPLES."""
    records = study.records
    predictions = predictions_reader(records, study.store)
    counts = counts_reader(records, study.store)
    frames = [
        _of_run(predictions(cell.key), counts(cell.key)).assign(
            experiment=study.name,
            arm=cell.arm,
            task=cell.task,
            pretrain_seed=cell.pretrain_seed,
            finetune_seed=cell.finetune_seed,
            source=source,
        )
        for cell in study.plan.cells
        if cell.checkpoint == 1 and cell.key in records
    ]
    return pd.concat([pd.DataFrame(columns=EXAMPLES.names), *frames])[EXAMPLES.names]


def _of_run(predictions: pd.DataFrame, counts: Mapping[str, np.ndarray]) -> pd.DataFrame:
    group = predictions["group"] if "group" in predictions else pd.Series(None, predictions.index)
    told = [
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
            "counts": told,
        }
    )


def _counts_of(
    split: str, num_examples: int, counts: Mapping[str, np.ndarray]
) -> Iterator[str | None]:
    """For each example, its counts of every metric that has some for each example."""
    of_split = {
        name.partition("/")[2]: array
        for name, array in counts.items()
        if name.startswith(f"{split}/") and not name.endswith(f"/{LABELS}")
    }
    single = {name: array for name, array in of_split.items() if len(array) == num_examples}
    for row in range(num_examples):
        told = {name: [float(x) for x in array[row]] for name, array in single.items()}
        yield json.dumps(told) if told else None


def _json(value: Any) -> str:
    return json.dumps(value.tolist() if isinstance(value, np.ndarray) else value)
