"""What every written form of a table shares: the cells of a row, marks of published rows, notes."""

from harness.leaderboard.table import Published, Row, Score, Table

MISSING = "–"
DAGGER = "†"


def marked(table: Table) -> list[tuple[str, Published]]:
    """The blocks of rows that were not measured here, each with the mark of its rows: a dagger,
    with a number where there are several blocks."""
    blocks = table.published
    marks = [f"{DAGGER}{i}" if len(blocks) > 1 else DAGGER for i in range(1, len(blocks) + 1)]
    return list(zip(marks, blocks, strict=True))


def beside(table: Table) -> list[tuple[str, Published]]:
    """The blocks that may stand beside the measured rows."""
    return [(mark, block) for mark, block in marked(table) if block.comparable]


def apart(table: Table) -> list[tuple[str, Published]]:
    """The blocks that need a table of their own."""
    return [(mark, block) for mark, block in marked(table) if not block.comparable]


def heading(mark: str, block: Published) -> str:
    """The line over the rows of a block: where they are from, and why they stand apart."""
    return f"{mark} {block.source}; {block.split}" + (f". {block.reason}" if block.reason else "")


def all_notes(table: Table) -> list[str]:
    """The lines under a table, those on its published rows included."""
    published = [
        f"{mark} {block.kind}: {block.source}; {block.split}; {block.protocol}. {block.reason}"
        for mark, block in marked(table)
    ]
    return table.notes() + [note.strip() for note in published]


def row_cells(table: Table, row: Row, mark: str = "") -> list[str]:
    """A row as printed, in the order of the head."""
    scores = [_text(score) for score in (row.average, *row.scores)]
    name = f"{row.name} {mark}".strip()
    return [str(row.rank or ""), name, *scores, row.seeds, *table.more_cells(row)]


def bold_places(row: Row) -> list[int]:
    """Places of the best scores among `row_cells`."""
    scores = (row.average, *row.scores)
    return [place for place, score in enumerate(scores, start=2) if score and score.best]


def _text(score: Score | None) -> str:
    if score is None:
        return MISSING
    return f"{score.mean:.1f}" + ("" if score.sd is None else f" ± {score.sd:.1f}")
