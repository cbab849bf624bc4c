"""The examples on which two arms disagree, as a self-contained page, csv and parquet."""

from pathlib import Path

from harness.core.csv_text import frame_csv
from harness.core.files import atomic_path, has_earlier, write_atomically
from harness.core.names import file_name
from harness.report.disagreements.answers import CAVEAT, Disagreements
from harness.report.disagreements.judgements import VALUES
from harness.report.layout import template

TEMPLATES = Path(__file__).parent / "templates"
MAX_ROWS = 2_000
"""Maximum number of rows on the page; the files have all."""
PAGE, TABLE, FRAME = "index.html", "examples.csv", "examples.parquet"


def folder_name(found: Disagreements) -> str:
    """Default name of the folder of a page, unique for each experiment, task and pair of arms."""
    return "-".join(file_name(part) for part in (found.experiment, found.task, *found.arms))


def write_disagreements(found: Disagreements, out: Path) -> Path:
    """Writes index.html, examples.csv and examples.parquet to `out`.

    Raises:
        ValueError: `out` has files of these names that are not of such a page.
    """
    out.mkdir(parents=True, exist_ok=True)
    has_earlier(out, (PAGE, TABLE, FRAME), FRAME, "page of disagreements")
    with atomic_path(out / FRAME) as draft:
        found.frame.to_parquet(draft, index=False)
    write_atomically(out / TABLE, frame_csv(found.frame))
    write_atomically(out / PAGE, render(found))
    return out / PAGE


def render(found: Disagreements) -> str:
    """The page as html; all text from the data is escaped."""
    shown = found.frame.head(MAX_ROWS)
    return template("disagreements.html.jinja", TEMPLATES).render(
        found=found,
        columns=[str(name) for name in shown.columns],
        rows=[[_cell(value) for value in row] for row in shown.itertuples(index=False)],
        winners=_winners(found) if found.kind not in VALUES else [],
        caveat=CAVEAT,
        shown=len(shown),
    )


def _winners(found: Disagreements) -> list[str]:
    """For each row, the arm that is right more often, or `neither`."""
    first, second = (found.frame[f"{arm}: share right"].head(MAX_ROWS) for arm in found.arms)
    pairs = zip(first, second, strict=True)
    return [found.arms[0] if a > b else found.arms[1] if b > a else "neither" for a, b in pairs]


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
