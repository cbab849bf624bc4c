"""Writes the site: static pages that need no network, and can be read without scripts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from typing import Any

from harness.core.counting import number_of
from harness.leaderboard.boards import StoreBoard, store_board
from harness.leaderboard.own_suites import own_suites
from harness.leaderboard.published import board_of_suite, published_entry, published_index
from harness.leaderboard.published_tables import published_text_tables
from harness.leaderboard.render import render
from harness.leaderboard.table import IMPORTED, Published, Table
from harness.leaderboard.text_tables import render_text_tables
from harness.report.layout import TEMPLATES as SHARED
from harness.report.layout import template
from harness.report.site.board_page import choices, cost_figure, view_data
from harness.report.site.publish import replaced_site
from harness.store.recorded import RecordedExperiment, imported_scores, recorded_experiments
from harness.store.store import Store
from harness.tasks import SUITES

TEMPLATES = Path(__file__).parent / "templates"
BACK_LINK = '<nav aria-label="Site"><a href="../../index.html">Pretraining harness</a></nav>'
"""Added at the top of each report."""


@dataclass(frozen=True)
class Board:
    """The leaderboard page of one suite."""

    suite: str
    title: str
    found: StoreBoard
    experiments: Sequence[RecordedExperiment]

    @property
    def table(self) -> Table:
        """The leaderboard."""
        return self.found.table

    @property
    def first(self) -> Sequence[str]:
        """The arms that share the first rank."""
        joint = [row for block in self._imported if block.comparable for row in block.rows]
        return [row.name for row in (*self.table.rows, *joint) if row.rank == 1]

    @property
    def imported(self) -> Sequence[str]:
        """The imported arms."""
        return [row.name for block in self._imported for row in block.rows]

    @property
    def _imported(self) -> Sequence[Published]:
        return [block for block in self.table.published if block.kind == IMPORTED]


def build_site(
    store: Store, out: Path, watched: Callable[[Sequence[str]], Iterable[str]] = iter
) -> Path:
    """Writes the site of `store` into the folder `out`. An older site is replaced once the new one
    is complete; other files are left alone. Equal stores give equal bytes. Reports are copied from
    `reports/` in the store.

    Args:
        watched: iterates over the suites while their boards are built, to show progress.

    Returns:
        The path of the first page.

    Raises:
        ValueError: `out` holds other files but no site, or cannot be written.
    """
    with replaced_site(out) as draft:
        _build(store, draft, watched)
    return out / "index.html"


def _build(store: Store, out: Path, watched: Callable[[Sequence[str]], Iterable[str]]) -> None:
    experiments = recorded_experiments(store)
    boards = _boards(store, experiments, watched)
    reports = _copy_reports(store.root / "reports", experiments, out / "reports")
    tables = [{"name": str(name), **published_entry(str(name))} for name in published_index().index]
    listed = {"boards": boards, "experiments": experiments, "tables": tables}
    _write(out / "index.html", "index", "", {**listed, "reports": reports})
    for board in boards:
        page = out / "leaderboards" / f"{board.suite}.html"
        content = {
            "board": board,
            "reports": reports,
            "costs": cost_figure(board.found),
            "choices": choices(board.table),
            "data": view_data(board.found, board.experiments),
        }
        _write(page, "board", "../", content, render(board.table, "html"))
    for entry in tables:
        sheets = render_text_tables(published_text_tables(entry["name"]), "html")
        page = out / "published" / f"{entry['name']}.html"
        _write(page, "published", "../", {"entry": entry}, sheets)
    styles = (SHARED / "theme.css", TEMPLATES / "style.css")
    (out / "style.css").write_bytes(b"".join(path.read_bytes() for path in styles))
    for script in ("site.js", "board.js"):
        (out / script).write_bytes((TEMPLATES / script).read_bytes())


def _boards(
    store: Store,
    experiments: Sequence[RecordedExperiment],
    watched: Callable[[Sequence[str]], Iterable[str]],
) -> list[Board]:
    """One board per suite with results, measured or imported: shipped, or declared by an
    experiment."""
    records = store.finished()
    by_suite: dict[str, list[RecordedExperiment]] = {}
    for experiment in experiments:
        for suite in experiment.scores["suite"].unique():
            by_suite.setdefault(str(suite), []).append(experiment)
    if (imported := imported_scores(store)) is not None:
        by_suite |= {str(one): [] for one in imported["suite"].unique() if one not in by_suite}
    found = []
    for suite in watched(sorted(by_suite.keys() & {*SUITES, *own_suites(experiments)})):
        board = board_of_suite(suite)
        made = store_board(suite, store, experiments=experiments, finished=records)
        found.append(Board(suite, board.title if board else suite, made, by_suite[suite]))
    return found


def _copy_reports(source: Path, experiments: Sequence[RecordedExperiment], out: Path) -> set[str]:
    """Copies all reports, with a link to the first page; returns the names of their experiments."""
    names = {one.name for one in experiments if (source / one.name / "index.html").is_file()}
    for name in names:
        copytree(source / name, out / name, ignore_dangling_symlinks=True)
        page = out / name / "index.html"
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("<body>", f"<body>\n{BACK_LINK}", 1), encoding="utf-8")
    return names


def _write(path: Path, kind: str, root: str, content: Mapping[str, Any], table: str = "") -> None:
    """Writes a page.

    Args:
        kind: name of its template, without the endings.
        root: relative path from the page to the folder of the first page.
        table: HTML that is not escaped again.
    """
    from markupsafe import Markup

    page = template(f"{kind}.html.jinja", TEMPLATES, trim=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    given = {"table": Markup(table), "json": _script_json, "number_of": number_of}
    text = page.render(content, root=root, **given)
    path.write_text(text, encoding="utf-8")


def _script_json(text: str) -> str:
    """JSON that cannot end the script element that it stands in."""
    from markupsafe import Markup

    return Markup(text.replace("<", "\\u003c"))
