"""The rows of a board with ranks: measured rows, and imported ones with examples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import pandas as pd

from harness.analysis.columns import SuiteColumns
from harness.analysis.comparison.differences import MAX_ROWS, Compared, Comparer
from harness.analysis.comparison.resampling import Counts, arm_runs
from harness.analysis.results import stage_counts
from harness.analysis.statistics.bootstrap import Runs
from harness.core.counting import number_of
from harness.leaderboard.build import row_names
from harness.leaderboard.imported import ImportedBlock
from harness.leaderboard.imported_runs import ImportedRuns, imported_runs
from harness.leaderboard.ranks import TOO_MANY, with_ties, without_ties
from harness.leaderboard.table import Published, Row, Table
from harness.store.store import StageResult, Store

Paired = Callable[[str, str], bool]
"""Names of two rows to whether they start from the same checkpoints."""


@dataclass(frozen=True)
class Ranked:
    """A table with ranks."""

    table: Table
    compared: Compared | None
    """Compares two rows by name; null if rows cannot be compared."""
    imported: Mapping[str, Row]
    """The imported rows that are ranked together with the measured ones, by their unique names."""
    published: tuple[Published, ...] = ()
    """The imported blocks, with the ranks of their rows."""


def tied(
    table: Table,
    scores: pd.DataFrame,
    store: Store,
    finished: Mapping[str, StageResult] | None = None,
    paired: Paired = lambda first, second: False,
) -> Table:
    """`table` with ranks shared by arms that do not differ significantly. If that cannot be
    computed, the ranks stay as they are and the table says why.

    Args:
        scores: the scores that the table was built from.
        finished: result of `Store.finished`, if already read.
        paired: whether two rows start from the same checkpoints.
    """
    return ranked(table, scores, store, finished, paired).table


def ranked(
    table: Table,
    scores: pd.DataFrame,
    store: Store,
    finished: Mapping[str, StageResult] | None,
    paired: Paired,
    blocks: Sequence[ImportedBlock] = (),
) -> Ranked:
    """`tied`, with a function that compares two rows, and with the ranks of imported rows.

    Imported rows of the protocol of the measured rows are ranked together with these, or without
    any, those of the protocol of most sources together; the others among those of their block.
    Those without the counts of all examples, or scored on other examples, have no rank.

    Args:
        blocks: result of `harness.leaderboard.imported.imported_blocks`.
    """
    digests = {block.digest for block in blocks if block.published.comparable}
    joint = [one for one in blocks if one.published.comparable] if len(digests) == 1 else []
    table, compared, found = _ranked(table, scores, store, finished, paired, joint)
    published = []
    for block in blocks:
        rows = found
        if block not in joint:
            alone = replace(table, rows=())
            own, _, rows = _ranked(alone, scores.iloc[:0], store, {}, paired, [block])
            if not table.rows and not joint:
                table = replace(table, ranking=own.ranking)
        published.append(_with_ranks(block, rows))
    return Ranked(table, compared, found, tuple(published))


def _runs(
    arms: Sequence[str], scores: pd.DataFrame, counts: Counts, layout: SuiteColumns
) -> dict[str, dict[str, Runs]]:
    """The runs of the rows, which are scored on the same examples, or, if all rows have the same
    pretraining seeds, on those of a micro-world for each seed.

    Raises:
        ValueError: neither.
    """
    try:
        return arm_runs(arms, scores, counts, layout)
    except ValueError:
        shown = scores[scores["arm"].isin(list(arms))]
        seeds = shown.groupby("arm")["pretrain_seed"].agg(frozenset)
        if len(set(seeds)) > 1:  # rows of different seeds would share no examples
            raise
        return arm_runs(arms, scores, counts, layout, examples_by_seed=True)


def _with_ranks(block: ImportedBlock, ranks: Mapping[str, Row]) -> Published:
    rows = (ranks.get(block.unique(row.name), row) for row in block.published.rows)
    named = zip(rows, block.published.rows, strict=True)
    return replace(block.published, rows=tuple(replace(row, name=own.name) for row, own in named))


def _ranked(
    table: Table,
    scores: pd.DataFrame,
    store: Store,
    finished: Mapping[str, StageResult] | None,
    paired: Paired,
    blocks: Sequence[ImportedBlock],
) -> tuple[Table, Compared | None, dict[str, Row]]:
    """The table with ranks, and imported rows with theirs."""
    if not table.rows and not blocks:
        return table, None, {}
    if len(table.rows) > MAX_ROWS:
        return without_ties(table, TOO_MANY), None, {}
    named = scores.assign(arm=row_names(scores))
    found = finished or (store.finished(named["key"].unique()) if len(named) else {})
    if missing := set(named["key"]) - set(found):
        are = "is" if len(missing) == 1 else "are"
        reason = f"{number_of(len(missing), 'run')} {are} no longer in the store"
        return without_ties(table, reason), None, {}
    imports = imported_runs(blocks, table.layout, store, named, found)
    if len(table.rows) + len(imports.rows) > MAX_ROWS:
        imports = ImportedRuns.none()
    of_store = cache(lambda key: stage_counts(store, found[key]))
    try:
        runs = _runs(
            [*(row.name for row in table.rows), *imports.rows],
            pd.concat([named, imports.scores]) if imports.rows else named,
            lambda key: imports.counts[key] if key in imports.counts else of_store(key),
            table.layout,
        )
        compared = Comparer(runs, table.layout, paired)
        together = replace(table, rows=(*table.rows, *imports.rows.values()))
        with_ranks = with_ties(together, compared)
    except ValueError as error:
        return without_ties(table, str(error)), None, {}
    measured = with_ranks.rows[: len(table.rows)]
    others = {row.name: row for row in with_ranks.rows[len(table.rows) :]}
    return replace(with_ranks, rows=measured), compared, others
