"""What the docs say to write is read."""

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from harness.experiment.declaration import read
from harness.experiment.evaluation import Evaluate
from harness.experiment.experiment import Experiment
from tests.paths import ROOT

PAGES = ["README.md", "docs/adaptation.md", "docs/sweeps.md", "docs/tasks.md"]
NEEDED = {
    "name": "study",
    "question": "Which is better?",
    "pretrain": "{recipe: bert, size: nano, corpus: microworld, budget: {tokens: 1_000_000}}",
}
BLOCK = re.compile(r"^(?: {4}.*\n|\n(?= {4}))+", re.MULTILINE)
FIELD = re.compile(r"^(\w+):", re.MULTILINE)


def snippets() -> Iterator[tuple[str, str]]:
    """(page and line, YAML) of every indented block of fields of an experiment; of several ways to
    give one field each."""
    for page in PAGES:
        text = (ROOT / page).read_text()
        for block in BLOCK.finditer(text):
            line = text[: block.start()].count("\n") + 1
            for number, part in enumerate(_parts(dedent(block[0]))):
                yield f"{page}:{line}.{number}", part


def _parts(block: str) -> Iterator[str]:
    """Pieces without a field twice."""
    found = list(FIELD.finditer(block))
    if not found or {field[1] for field in found} - Experiment.model_fields.keys():
        return
    seen: set[str] = set()
    begin = 0
    for field in found:
        if field[1] in seen:
            yield block[begin : field.start()]
            seen, begin = set(), field.start()
        seen.add(field[1])
    yield block[begin:]


SNIPPETS = dict(snippets())


@pytest.mark.parametrize("place", SNIPPETS)
def test_what_the_docs_say_to_write_is_read(place: str) -> None:
    given = FIELD.findall(SNIPPETS[place])
    rest = [f"{name}: {value}" for name, value in NEEDED.items() if name not in given]
    found = read("\n".join([*rest, SNIPPETS[place]]), Path(place))
    assert found.arms


def test_the_docs_show_each_way_to_adapt() -> None:
    shown = " ".join(SNIPPETS.values())
    fields = [*sorted(Evaluate.model_fields.keys() - {"probes", "submission"}), "sweep"]
    fields += [
        "siamese",
        "num_fewshot",
        "targets",
        "layer_decay",
        "objective",
        "checkpoint",
        "max_examples",
    ]
    assert [name for name in fields if not re.search(rf"\b{name}:", shown)] == []


def test_every_section_of_a_report_is_explained() -> None:
    """Titles are literals of the report's code and its page."""
    sources = [
        *(ROOT / "harness/report").rglob("*.py"),
        *(ROOT / "harness/report").rglob("*.jinja"),
    ]
    titles = {
        title
        for path in sources
        for title in re.findall(r'(?:Section\(\s*|head\()"([^"]+)"', path.read_text())
    } - {"Time"}  # a part of Provenance
    assert len(titles) > 10
    rows = (ROOT / "docs/reports.md").read_text().splitlines()
    named = {
        name.strip()
        for row in rows
        if row.startswith("| ")
        for name in re.split(", (?=[A-Z])", row.split("|")[1])
    }
    assert titles <= named
