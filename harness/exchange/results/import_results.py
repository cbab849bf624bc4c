"""Results that were measured elsewhere, into the store."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.core.config import unknown_name
from harness.exchange.results.example_values import check_values
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
from harness.store.recorded import (
    IMPORTED_EXAMPLES,
    IMPORTED_SCORES,
    imported_examples,
    imported_scores,
)
from harness.store.store import Store

RUN = ["source", *CELL]
"""Columns that identify a run on a split."""


@dataclass(frozen=True)
class Imported:
    """What an import added to a store."""

    scores: pd.DataFrame
    """With the columns of SCORES."""
    known: int = 0
    """Scores that were left out, as the store has them."""


def import_results(
    path: Path, store: Store, replace: bool = False, kept: Collection[str] = ()
) -> Imported:
    """Imports the scores in `path` that the store does not have, and the examples in the file
    beside it.

    Args:
        replace: whether they take the place of all earlier imports of their sources.
        kept: sources whose earlier imports are kept nonetheless, such as those of another file
            that was imported with this one.

    Raises:
        ValueError: the files do not follow the schema, the store has all the results already, or an
            imported score with another value or protocol, or it cannot be written.
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
        replaced = set(scores["source"]) - set(kept) if replace else set()
        is_new = _new_scores(path, scores, store, replaced)
        new = {IMPORTED_SCORES: tables[IMPORTED_SCORES].filter(pa.array(is_new))}
        if IMPORTED_EXAMPLES in tables:
            known = _known_runs(scores[is_new & ~scores["source"].isin(replaced)], store)
            new[IMPORTED_EXAMPLES] = _of_runs(
                tables[IMPORTED_EXAMPLES], {*_runs(scores[is_new])} - known
            )
        for name, table in new.items():  # with the types of the schema
            pq.write_table(table, Path(folder) / name)
        store.record_import(path.name, Path(folder), replaced)
    return Imported(scores[is_new], int((~is_new).sum()))


def remove_imported(source: str, store: Store) -> int:
    """Removes the imported results of a source.

    Returns:
        How many scores these were.

    Raises:
        ValueError: nothing was imported from the source, or the store cannot be written.
    """
    imported = imported_scores(store)
    if imported is None:
        raise ValueError(f"{store.root} has no imported results")
    sources = sorted(imported["source"].unique())
    if source not in sources:
        raise ValueError(unknown_name("the source of imported results", source, sources))
    with TemporaryDirectory() as folder, lease(store.root / RECORDING):
        store.record_import(f"without {source}", Path(folder), [source])
    return int((imported["source"] == source).sum())


def _new_scores(
    path: Path, scores: pd.DataFrame, store: Store, replaced: Collection[str]
) -> np.ndarray:
    """[num_scores], whether a score is not among those imported before, those of replaced sources
    left out, and the store did not compute it.

    Raises:
        ValueError: it has all, or one that was imported with another value or protocol.
    """
    own = scores["stage"].isin(store.finished(scores["stage"].dropna().unique()))
    before = pd.Series(False, scores.index)
    if (imported := imported_scores(store)) is not None:
        kept = imported[~imported["source"].isin(replaced)]
        facts = kept[[*IDENTITY, "value", "protocol_digest"]]
        known = scores[IDENTITY].merge(facts, "left", IDENTITY, indicator=True)
        before = (known["_merge"] == "both").set_axis(scores.index)
        same = (known["value"] == scores["value"]) | (
            known["value"].isna() & scores["value"].isna()
        )
        same &= known["protocol_digest"] == scores["protocol_digest"]
        _refuse(path, scores[before & ~own & ~same], "with another value or protocol")
    if (own | before).all():
        _refuse(path, scores[before & ~own])
        one = scores.iloc[0]
        raise ValueError(
            f"{path}: this store computed {_named(one)} itself (stage {one['stage']}); no result "
            "is new"
        )
    return (~(own | before)).to_numpy()


def _refuse(path: Path, known: pd.DataFrame, how: str = "") -> None:
    """Raises ValueError for scores that were imported before."""
    if len(known):
        raise ValueError(
            f"{path}: results of {known['source'].iloc[0]} were imported before"
            f"{f' {how}' if how else ''}: {_named(known.iloc[0])}; --replace takes the file in "
            "place of them, and those of others need another source (--source of the export)"
        )


def _known_runs(scores: pd.DataFrame, store: Store) -> set[tuple[Any, ...]]:
    """The runs of arms in `scores` whose examples were imported before, with other scores."""
    arms = scores[RUN[:3]].drop_duplicates().itertuples(index=False, name=None)
    before = [imported_examples(store, *arm) for arm in arms]
    return {run for frame in before if len(frame) for run in _runs(frame)}


def _of_runs(examples: pa.Table, runs: set[tuple[Any, ...]]) -> pa.Table:
    kept = [run in runs for run in _runs(examples.select(RUN).to_pandas())]
    return examples.filter(pa.array(kept, pa.bool_()))


def _runs(rows: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(rows[RUN].itertuples(index=False, name=None))


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
    """Raises ValueError for examples of a run without a score, for duplicates, and for values that
    boards could not read."""
    runs = set(scores[["source", *CELL]].itertuples(index=False, name=None))
    found = set(examples[["source", *CELL]].drop_duplicates().itertuples(index=False, name=None))
    if unknown := sorted(found - runs):
        raise ValueError(f"{path}: examples of a run without a score: {unknown[0]}")
    if (least := examples["index"].min()) < 0:
        raise ValueError(f"{path}: index must be at least 0, but is {least} in a row")
    names = ["source", *CELL, "index"]
    if len(twice := examples[examples.duplicated(names)]):
        raise ValueError(f"{path}: an example is given twice: {twice[names].iloc[0].to_dict()}")
    check_values(path, examples)
