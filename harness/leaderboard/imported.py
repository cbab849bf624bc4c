"""Imported results on a leaderboard, comparable with measured rows only under the same protocol."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from harness.leaderboard.build import build_columns
from harness.leaderboard.table import IMPORTED, Published, Table, protocol_line
from harness.plan.protocol import protocol_digest, recorded_protocols
from harness.store.recorded import imported_scores
from harness.store.store import Store


@dataclass(frozen=True)
class ImportedBlock:
    """The imported results of one source and protocol."""

    published: Published
    source: str
    digest: str
    """Of the protocol."""
    scores: pd.DataFrame
    """Imported scores, of which `published` has the rows, named by `row_names`."""

    def unique(self, row: str) -> str:
        """A name of a row that no other block has."""
        return f"{row} ({self.source}, {self.digest})"


def imported_blocks(
    table: Table,
    store: Store,
    measured: Iterable[Mapping[str, Any]],
    select: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
    tasks: Sequence[str] | None = None,
) -> list[ImportedBlock]:
    """The imported results on the suite of a table, one block per source and protocol; first that
    with the highest average.

    Args:
        measured: specs of the experiments with rows in the table
            (`harness.store.recorded.RecordedExperiment.spec`).
        select: selects the imported scores to show; null means all.
        tasks: those of the table, if it is of a part of a suite.
    """
    imported = imported_scores(store)
    if imported is None:
        return []
    imported = select(imported) if select else imported
    suite = table.suite.name.partition("[")[0]  # that of a part lists its tasks
    imported = imported[imported["suite"] == suite]
    imported = imported[imported["task"].isin(tasks)] if tasks else imported
    protocols = {digest for spec in measured for digest in _protocols(spec)}
    reference = "measured" if protocols else "most imported"
    protocols = protocols or _most_common(imported)
    blocks = [
        ImportedBlock(
            _block(
                *(str(source), str(digest), scores, build_columns(scores, table.layout)),
                _reason(str(digest), protocols, reference),
            ),
            str(source),
            str(digest),
            scores,
        )
        for (source, digest), scores in imported.groupby(["source", "protocol_digest"])
    ]
    return sorted(blocks, key=_highest, reverse=True)


def _highest(block: ImportedBlock) -> float:
    """The highest average of a block; without one, less than any."""
    return max((row.average.mean for row in block.published.rows if row.average), default=-np.inf)


def _most_common(imported: pd.DataFrame) -> set[str]:
    """The protocol of most sources, or several of equally many."""
    sources = imported.groupby("protocol_digest")["source"].nunique()
    return set(sources.index[sources == sources.max()].astype(str))


def _protocols(spec: Mapping[str, Any]) -> set[str]:
    """Digests of the fine-tuning protocols of an experiment's arms."""
    return {protocol_digest(text) for text in recorded_protocols(spec).values()}


def _block(source: str, digest: str, scores: pd.DataFrame, own: Table, reason: str) -> Published:
    """The imported `scores` of one source and protocol, of which `own` is the table.

    Args:
        reason: why they are not comparable with the measured rows; empty if they are.
    """
    return Published(
        table=f"imported: {source}",
        source=f"imported from {source}",
        split=own.split,
        protocol=f"protocol {digest}: {protocol_line(json.loads(scores['protocol'].iloc[0]))}",
        rows=tuple(replace(row, rank=None) for row in own.rows),
        kind=IMPORTED,
        reason=reason,
        citation=f"imported from {source}",
    )


def _reason(digest: str, protocols: Collection[str], reference: str) -> str:
    """Why a block is not comparable with the rows that the board is of; empty if it is.

    Args:
        protocols: of these rows.
        reference: `measured`, or without measured rows `most imported`.
    """
    if set(protocols) == {digest}:
        return ""
    if digest in protocols:
        return f"The {reference.removeprefix('most ')} rows have several protocols."
    those = f"the {reference}" if reference == "measured" else reference
    return f"The protocol differs from that of {those} rows ({', '.join(sorted(protocols))})."
