"""The documentation agrees with the code: snippets, commands, paths, links and listed results."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent

import pandas as pd
import pytest
import typer
import yaml

from harness.cli.app import app
from harness.data.corpora import CORPORA, FACTS
from harness.data.corpora.sources import Corpus
from harness.experiment.declaration import read
from harness.experiment.evaluation import Evaluate
from harness.experiment.experiment import Experiment
from harness.experiment.registry_columns import columns_of
from harness.finetuning.protocol import Finetune, Protocol
from harness.pretraining.objectives.transforms import TRANSFORMS
from harness.pretraining.objectives.transforms.masking import Masking
from tests.paths import ROOT

PAGES = [
    "README.md",
    *(f"docs/{name}.md" for name in ("adaptation", "cluster", "objectives", "sweeps", "tasks")),
]
"""Pages whose indented blocks of fields are read as experiments."""
DOCUMENTS = [
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "leaderboards/README.md")
    ),
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / top / "README.md" for top in ("experiments", "reports")),
    *sorted((ROOT / "experiments").glob("*/README.md")),
]
NEEDED = {
    "name": "study",
    "question": "Which is better?",
    "pretrain": "{recipe: bert, size: nano, corpus: microworld, budget: {tokens: 1_000_000}}",
}
BLOCK = re.compile(r"^(?: {4}.*\n|\n(?= {4}))+", re.MULTILINE)
FIELD = re.compile(r"^(\w+):", re.MULTILINE)
COMMAND = re.compile(r"^ {4}harness ([^#\n]+)", re.MULTILINE)
FILE = re.compile(r"`([\w./-]+(?:\.(?:py|yaml|csv)|/))`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
MODULE = re.compile(r"\bharness((?:\.\w+){2,})")
VERDICT = re.compile(r"^- (.+? > .+?): \*\*(\w+)\*\*, ([+−][\d.]+) points", re.MULTILINE)
MADE = {".git", ".venv", "runs"}
"""Folders that are not part of the project."""
NOT_OURS = {"out/", "state/", "weights/", "runs/", "runs/work/", "text/", "ruamel.yaml"}
NOT_OURS |= {"examples.csv", "trials.csv", "differences.csv", "leaderboard.csv", "stages.csv"}
NOT_OURS |= {"scores.csv", "loss_differences.csv", "index.html", ".eval_results/", "class.yaml"}
"""What the harness and its users write, and what is not a file."""


def snippets() -> Iterator[tuple[str, str]]:
    """(page and line, YAML) of every indented block of fields of an experiment; blocks that give a
    field twice are split."""
    for page in PAGES:
        text = (ROOT / page).read_text()
        for block in BLOCK.finditer(text):
            line = text[: block.start()].count("\n") + 1
            for number, part in enumerate(_parts(dedent(block[0]))):
                yield f"{page}:{line}.{number}", part


def _parts(block: str) -> Iterator[str]:
    """Pieces that have no field twice."""
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
COMMANDS = sorted(
    {line.strip() for path in DOCUMENTS for line in COMMAND.findall(path.read_text())}
)


@pytest.mark.parametrize("place", SNIPPETS)
def test_snippets_are_valid_experiments(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"review number {row},{('good', 'bad')[row % 2]}" for row in range(60)]
    Path("train.csv").write_text("\n".join(["text,label", *rows]))
    given = FIELD.findall(SNIPPETS[place])
    rest = [f"{name}: {value}" for name, value in NEEDED.items() if name not in given]
    found = read("\n".join([*rest, SNIPPETS[place]]), Path(place))
    assert found.arms


def test_snippets_show_each_way_to_adapt() -> None:
    shown = " ".join(SNIPPETS.values())
    fields = [*sorted(Evaluate.model_fields.keys() - {"probes", "predict_test"}), "sweep"]
    fields += ["siamese", "num_fewshot", "targets", "layer_decay", "objective", "checkpoint"]
    fields += ["max_examples"]
    assert [name for name in fields if not re.search(rf"\b{name}:", shown)] == []


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_exist_with_their_options(line: str) -> None:
    command, words = typer.main.get_command(app), line.split(";")[0].split()
    while words and words[0] in getattr(command, "commands", ()):
        command = getattr(command, "commands")[words.pop(0)]  # noqa: B009
    assert not hasattr(command, "commands"), f"harness {line} names no command"
    known = {name for option in command.params for name in option.opts}
    assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_links_and_names_exist(path: Path) -> None:
    text = path.read_text()
    missing = {name for name in FILE.findall(text) if name.rstrip("/") not in _ends()} - NOT_OURS
    missing |= {link for link in LINK.findall(text) if not (path.parent / link).exists()}
    assert missing == set()
    assert [name for name in MODULE.findall(text) if not _defined(name.split(".")[1:])] == []


@cache
def _ends() -> set[str]:
    """What paths of the project's files and folders end with, in whole names."""
    found: set[str] = set()
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in MADE]
        for name in (*folders, *files):
            parts = (Path(folder) / name).relative_to(ROOT).parts
            found |= {"/".join(parts[i:]) for i in range(len(parts))}
    return found


def _defined(parts: list[str]) -> bool:
    """Whether the parts of a dotted name below `harness` are a package, a module, or a name in
    one."""
    module, last = ROOT.joinpath("harness", *parts), ROOT.joinpath("harness", *parts[:-1])
    if module.is_dir() or module.with_suffix(".py").is_file():
        return True
    source = last / "__init__.py" if last.is_dir() else last.with_suffix(".py")
    pattern = rf"^(def |class )?{parts[-1]}\b"
    return source.is_file() and bool(re.search(pattern, source.read_text(), re.MULTILINE))


def test_every_experiment_is_listed_in_its_folder() -> None:
    for path in sorted((ROOT / "experiments").glob("*/*.yaml")):
        if path.parent.name != "bases":
            assert f"({path.name})" in (path.parent / "README.md").read_text(), path


def test_rows_of_experiments_have_the_question_and_the_time_of_the_report() -> None:
    """Times are those of the stages of the report, to 10 %."""
    for page in sorted((ROOT / "experiments").glob("*/README.md")):
        rows = [row for row in page.read_text().splitlines() if row.startswith("| [`")]
        for row in rows:
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            assert len(cells) == 5, row
            name = cells[0].split("`")[1]
            declared = yaml.safe_load((page.parent / f"{name}.yaml").read_text())
            assert cells[1] == " ".join(declared["question"].split())
            stages = ROOT / "reports" / page.parent.name / name / "stages.csv"
            if stages.exists():
                number, unit = cells[3].split(",")[0].split()
                minutes = pd.read_csv(stages)["seconds"].sum() / 60
                stated = float(number) * {"min": 1, "h": 60}[unit]
                assert abs(minutes - stated) <= 0.5 + 0.1 * stated, (name, minutes)


@pytest.mark.parametrize("study", ["pretraining/worlds", "quickstart"])
def test_tables_of_the_readme_are_those_of_the_reports(study: str) -> None:
    board = (ROOT / "reports" / study / "leaderboard.md").read_text()
    table = [line for line in board.splitlines() if line.startswith("|")]
    assert len(table) > 4 and "\n".join(table) in (ROOT / "README.md").read_text()


def test_every_report_is_listed_with_its_verdicts() -> None:
    count = 0
    for report in sorted((ROOT / "reports").glob("*/*/README.md")):
        index = (report.parents[1] / "README.md").read_text()
        (row,) = [line for line in index.splitlines() if f"({report.parent.name}/README" in line]
        for expectation, verdict, points in VERDICT.findall(report.read_text()):
            part = row.partition(f"**{verdict}**")[2].partition("; **")[0]
            assert f"{expectation} ({points})" in part, f"{report}: {expectation}"
            count += 1
    assert count > 10


def test_every_section_of_a_report_is_explained() -> None:
    """Titles are literals of the report's code and its page."""
    sources = [
        *(ROOT / "harness/report").rglob("*.py"),
        *(ROOT / "harness/report").rglob("*.jinja"),
    ]
    titles = {
        title
        for path in sources
        for title in re.findall(r'(?:Section\(\s*|fold\()"([^"]+)"', path.read_text())
    }
    assert len(titles) > 10
    rows = (ROOT / "docs/reports.md").read_text().splitlines()
    named = {
        name.strip()
        for row in rows
        if row.startswith("| ")
        for name in re.split(", (?=[A-Z])", row.split("|")[1])
    }
    assert titles <= named


def test_every_field_of_the_protocol_is_listed_with_its_default() -> None:
    text = (ROOT / "docs/experiments.md").read_text().partition("## Protocol")[2]
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)`", text, re.MULTILINE)
    defaults = {name: yaml.safe_load(value) for name, value in rows}
    assert defaults == Protocol().model_dump()


def test_settings_of_finetuning_are_listed_with_their_defaults() -> None:
    text = " ".join((ROOT / "docs/adaptation.md").read_text().split())
    given = {name: value for name, value in Finetune().model_dump().items() if value}
    assert [name for name, value in given.items() if f"`{name}` ({value:g})" not in text] == []


def test_every_transform_is_listed_with_its_fields() -> None:
    """The rates of masking stand in its first row."""
    text = (ROOT / "docs/objectives.md").read_text()
    for transform in TRANSFORMS:
        (row,) = [
            line.split("|")
            for line in text.splitlines()
            if line.startswith(f"| `{transform.model_fields['kind'].default}` |")
            and line.count("|") == 4
        ]
        rates = Masking.model_fields.keys() if "the same rates" in row[3] else set()
        named = set(re.findall(r"`(\w+)`", row[3])) | rates
        assert transform.model_fields.keys() - {"kind"} <= named, row


def test_every_named_corpus_is_listed_as_harness_list_shows_it() -> None:
    text = (ROOT / "docs/corpora.md").read_text().partition("## Named corpora")[2]
    text = text.partition("\n## ")[0]
    lines = re.findall(r"^\| (`\w+` \|.*) \|$", text, re.MULTILINE)
    expected = [[f"`{name}`", *_listed(name, CORPORA[name])] for name in FACTS]
    assert [[cell.strip() for cell in line.split("|")] for line in lines] == expected


def _listed(name: str, corpus: Corpus) -> list[str]:
    return list(map(str, columns_of("corpora", name, corpus).values()))


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert run.returncode == 0 and run.stderr == "", run.stderr
    reference = (tmp_path / "api" / "index.html").read_text()
    names = ("harness.declare", "harness.evaluate", "Study.run", "PretrainingModule.loss")
    fields = ("PretrainSettings.batch_size", "Experiment.seeds", "Optimizer.weight_decay")
    for name in (*names, *fields, "statistics.welch"):
        assert name in reference
