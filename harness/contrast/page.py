"""The examples on which two arms disagree, as one page without a network, and as files of rows."""

from pathlib import Path

from harness.contrast.answers import CAVEAT, VALUES, Contrast

TEMPLATES = Path(__file__).parent / "templates"
MOST_ROWS = 2_000
"""Rows of the page; the files have all."""


def write_contrast(found: Contrast, out: Path) -> Path:
    """Writes index.html, examples.csv and examples.parquet to `out`."""
    out.mkdir(parents=True, exist_ok=True)
    found.frame.to_csv(out / "examples.csv", index=False)
    found.frame.to_parquet(out / "examples.parquet", index=False)
    (out / "index.html").write_text(render(found), encoding="utf-8")
    return out / "index.html"


def render(found: Contrast) -> str:
    """The page; every text of the data is escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    shown = found.frame.head(MOST_ROWS)
    return environment.get_template("errors.html.jinja").render(
        found=found,
        columns=[str(name) for name in shown.columns],
        rows=[[_cell(value) for value in row] for row in shown.itertuples(index=False)],
        winners=_winners(found) if found.kind not in VALUES else [],
        caveat=CAVEAT,
        shown=len(shown),
    )


def _winners(found: Contrast) -> list[str]:
    """Of each row: the arm that is right more often, or neither."""
    first, second = (found.frame[f"{arm}: share right"].head(MOST_ROWS) for arm in found.arms)
    pairs = zip(first, second, strict=True)
    return [found.arms[0] if a > b else found.arms[1] if b > a else "neither" for a, b in pairs]


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
