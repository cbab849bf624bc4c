"""Imported results as rows apart: beside measured ones only where suite, splits and protocol are
the same."""

from collections.abc import Collection
from dataclasses import replace

import pandas as pd

from harness.leaderboard.build import build
from harness.leaderboard.table import Published, Row


def imported_blocks(
    scores: pd.DataFrame, suite: str, average: str, measured: Collection[str]
) -> tuple[Published, ...]:
    """The imported rows of a suite, one block for each source and protocol.

    Args:
        scores: imported scores, as `harness.exchange.results` stores them.
        measured: digests of the protocols of the measured rows.
    """
    own = scores[scores["suite"] == suite]
    groups = own.groupby(["source", "protocol_digest"], sort=True)
    return tuple(
        _block(str(source), str(digest), rows, suite, average, measured)
        for (source, digest), rows in groups
    )


def _block(
    source: str,
    digest: str,
    scores: pd.DataFrame,
    suite: str,
    average: str,
    measured: Collection[str],
) -> Published:
    table = build(scores, suite, average)
    return Published(
        table=f"imported: {source}",
        source=f"imported from {source}",
        split=table.split,
        protocol=f"protocol {digest}: {scores['protocol'].iloc[0]}",
        rows=tuple(_unranked(row) for row in table.rows),
        kind="Imported",
        reason=_why_apart(digest, measured),
    )


def _unranked(row: Row) -> Row:
    return replace(row, rank=None)


def _why_apart(digest: str, measured: Collection[str]) -> str:
    if not measured or set(measured) == {digest}:
        return ""
    if digest in measured:
        return "The measured rows are of several protocols."
    return f"Another protocol than that of the measured rows ({', '.join(sorted(measured))})."
