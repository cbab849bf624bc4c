"""Writes the site: pages that any file server shows, and that need no network and no script."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from typing import Any

from harness.leaderboard.boards import board_table
from harness.leaderboard.published import board_of_suite, published_entry, published_index
from harness.leaderboard.published_tables import published_sheets
from harness.leaderboard.render import render
from harness.leaderboard.table import Table
from harness.leaderboard.text_tables import render_text_tables
from harness.report.site.publish import placed
from harness.store.recorded import RecordedExperiment, recorded_experiments
from harness.store.store import Store
from harness.tasks import SUITES

TEMPLATES = Path(__file__).parent / "templates"
LOOK = Path(__file__).parents[1] / "templates" / "theme.css"
"""What site and reports share; by its path, because importing the package takes seconds."""
WAY_BACK = '<nav aria-label="Site"><a href="../../index.html">Pretraining harness</a></nav>'
"""What a report has at its top where it stands in a site."""


@dataclass(frozen=True)
class Board:
    """A page of one suite."""

    suite: str
    title: str
    table: Table
    experiments: Sequence[RecordedExperiment]

    @property
    def first(self) -> Sequence[str]:
        """The arms that share the first rank."""
        return [row.name for row in self.table.rows if row.rank == 1]


def build_site(
    store: Store, out: Path, watched: Callable[[Sequence[str]], Iterable[str]] = iter
) -> Path:
    """Writes the site of `store` into the folder `out`, in the place of one that was there, which
    stays until the new one is whole; what else lies there is left alone. Equal stores give equal
    bytes. Reports are taken as they lie in `reports/` of the store.

    Args:
        watched: goes through the suites while their boards, most of the work, are made.

    Returns:
        Its first page.

    Raises:
        ValueError: `out` is a folder with something else and no site in it, or cannot be written.
    """
    with placed(out) as draft:
        _build(store, draft, watched)
    return out / "index.html"


def _build(store: Store, out: Path, watched: Callable[[Sequence[str]], Iterable[str]]) -> None:
    experiments = recorded_experiments(store)
    boards = _boards(store, experiments, watched)
    reports = _copy_reports(store.root / "reports", experiments, out / "reports")
    listed = {"boards": boards, "experiments": experiments, "tables": _tables()}
    _write(out / "index.html", "index", "", {**listed, "reports": reports})
    for board in boards:
        page = out / "leaderboards" / f"{board.suite}.html"
        _write(
            page, "board", "../", {"board": board, "reports": reports}, render(board.table, "html")
        )
    for name in published_index().index:
        entry = published_entry(str(name))
        sheets = render_text_tables(published_sheets(str(name)), "html")
        _write(out / "published" / f"{name}.html", "published", "../", {"entry": entry}, sheets)
    styles = (LOOK, TEMPLATES / "style.css")
    (out / "style.css").write_bytes(b"".join(path.read_bytes() for path in styles))
    (out / "site.js").write_bytes((TEMPLATES / "site.js").read_bytes())


def _boards(
    store: Store,
    experiments: Sequence[RecordedExperiment],
    watched: Callable[[Sequence[str]], Iterable[str]],
) -> list[Board]:
    """A board of each shipped suite that an experiment was run on."""
    records = store.finished()
    by_suite: dict[str, list[RecordedExperiment]] = {}
    for experiment in experiments:
        for suite in experiment.scores["suite"].unique():
            by_suite.setdefault(str(suite), []).append(experiment)
    found = []
    for suite in watched(sorted(by_suite.keys() & SUITES.keys())):
        board = board_of_suite(suite)
        table = board_table(suite, store, experiments=experiments, finished=records)
        found.append(Board(suite, board.title if board else suite, table, by_suite[suite]))
    return found


def _copy_reports(source: Path, experiments: Sequence[RecordedExperiment], out: Path) -> set[str]:
    """Names of the experiments that have a report, which stands in the site then, with a way back
    to its first page."""
    names = {one.name for one in experiments if (source / one.name / "index.html").is_file()}
    for name in names:
        copytree(source / name, out / name, ignore_dangling_symlinks=True)
        page = out / name / "index.html"
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("<body>", f"<body>\n{WAY_BACK}", 1), encoding="utf-8")
    return names


def _tables() -> list[dict[str, str]]:
    return [{"name": str(name), **published_entry(str(name))} for name in published_index().index]


def _write(
    path: Path, template: str, root: str, content: Mapping[str, Any], table: str = ""
) -> None:
    """A page; `root` is the way from it to the first page, `table` is HTML of ours."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(f"{template}.html.jinja")
    path.parent.mkdir(parents=True, exist_ok=True)
    text = page.render(content, root=root, table=Markup(table))
    path.write_text(text, encoding="utf-8")
