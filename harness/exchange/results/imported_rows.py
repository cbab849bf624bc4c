"""Imported results on a leaderboard."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from harness.exchange.results.import_results import stored
from harness.exchange.results.schema import protocol_digest, protocol_text
from harness.leaderboard.imported import imported_blocks
from harness.leaderboard.table import Table
from harness.store.store import Store


def with_imports(
    table: Table,
    store: Store,
    measured: Iterable[Mapping[str, Any]],
    taken: Callable[[pd.DataFrame], pd.DataFrame] | None = None,
) -> Table:
    """The table with what was measured elsewhere on its suite, in blocks of their own.

    Args:
        measured: the resolved experiments with rows in the table, as the store keeps them.
        taken: the imported scores that a filter leaves; null takes all.
    """
    imported = stored(store)
    imported = taken(imported) if taken else imported
    suite = table.suite.name
    if suite not in set(imported["suite"]):
        return table
    protocols = {digest for spec in measured for digest in _protocols(spec)}
    blocks = imported_blocks(imported, suite, table.average.name, protocols)
    return replace(table, published=(*table.published, *blocks))


def _protocols(spec: Mapping[str, Any]) -> set[str]:
    """Digests of the protocols of an experiment's arms."""
    sweep = spec["experiment"]["sweep"]
    texts = (protocol_text(arm["evaluate"], sweep) for arm in spec["arms"].values())
    return {protocol_digest(text) for text in texts}
