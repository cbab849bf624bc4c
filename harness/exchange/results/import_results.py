"""Results that were measured elsewhere, into the store."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.exchange.results.schema import (
    CELL,
    EXAMPLES,
    IDENTITY,
    MARK,
    SCORES,
    VERSION,
    check_scores,
    examples_path,
)
from harness.execution.lease import RECORDING, lease
from harness.store.recorded import IMPORTED_EXAMPLES, IMPORTED_SCORES, imported_scores
from harness.store.store import Store


def import_results(path: Path, store: Store) -> pd.DataFrame:
    """Imports the scores in `path`, and the examples in the file beside it.

    Returns:
        The scores, with the columns of SCORES.

    Raises:
        ValueError: the files do not follow the schema, the results are in the store already, or it
            cannot be written.
    """
    tables = {IMPORTED_SCORES: _load(path, SCORES)}
    scores = tables[IMPORTED_SCORES].to_pandas()
    check_scores(path, scores)
    examples = examples_path(path)
    if examples.is_file():
        tables[IMPORTED_EXAMPLES] = _load(examples, EXAMPLES)
        _check_examples(examples, tables[IMPORTED_EXAMPLES].to_pandas(), scores)
    store.create_folder()
    with TemporaryDirectory() as folder, lease(store.root / RECORDING):
        _refuse_known(path, scores, store)
        for name, table in tables.items():  # with the types of the schema
            pq.write_table(table, Path(folder) / name)
        store.record_import(path.name, Path(folder))
    return scores


def _refuse_known(path: Path, scores: pd.DataFrame, store: Store) -> None:
    """Raises ValueError for scores that were imported before or computed by this store."""
    own = scores[scores["stage"].isin(store.finished(scores["stage"].dropna().unique()))]
    if len(own):
        raise ValueError(
            f"{path}: this store computed {_named(own.iloc[0])} itself (stage "
            f"{own['stage'].iloc[0]}): leave such rows out"
        )
    imported = imported_scores(store)
    known = scores if imported is None else pd.concat([imported, scores])
    if len(twice := known[known.duplicated(IDENTITY)]):
        raise ValueError(
            f"{path}: results of {twice['source'].iloc[0]} were imported before: "
            f"{_named(twice.iloc[0])}; those of others need another source (--source of the export)"
        )


def _named(row: "pd.Series[Any]") -> str:
    return f"{row['experiment']}, {row['arm']}, {row['task']}"


def _load(path: Path, schema: pa.Schema) -> pa.Table:
    """The columns of the schema, cast to its types.

    Raises:
        ValueError: the file is missing, is not parquet, or has another version or other columns.
    """
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path} must be a parquet file, but: {reason}") from None
    version = (table.schema.metadata or {}).get(MARK, b"").decode(errors="replace") or "none"
    if version != VERSION:
        raise ValueError(
            f"{path} must have schema version {VERSION} under {MARK.decode()!r} in its metadata, "
            f"but has {version}; see docs/results.md"
        )
    if missing := [name for name in schema.names if name not in table.column_names]:
        raise ValueError(f"{path} must have the columns of docs/results.md, but lacks {missing[0]}")
    for field in schema:
        column = table[field.name]
        if column.null_count and not field.nullable:
            raise ValueError(f"{path}: {field.name} must not be null, but is in a row")
    try:
        table = table.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path}: a column is not of its type: {reason}") from None
    return table


def _check_examples(path: Path, examples: pd.DataFrame, scores: pd.DataFrame) -> None:
    """Raises ValueError for examples of a run without a score, and for duplicates."""
    runs = set(scores[["source", *CELL]].itertuples(index=False, name=None))
    found = set(examples[["source", *CELL]].drop_duplicates().itertuples(index=False, name=None))
    if unknown := sorted(found - runs):
        raise ValueError(f"{path}: examples of a run without a score: {unknown[0]}")
    if (least := examples["index"].min()) < 0:
        raise ValueError(f"{path}: index must be at least 0, but is {least} in a row")
    names = ["source", *CELL, "index"]
    if len(twice := examples[examples.duplicated(names)]):
        raise ValueError(f"{path}: an example is given twice: {twice[names].iloc[0].to_dict()}")
