"""The commands and the Python of README.md as printed, on an experiment made small."""

import re
import shlex
import shutil
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import harness
from harness.cli.app import app
from harness.study import Study
from tests.paths import ROOT

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"(?:^ {4}.*\n)+(?:\n(?: {4}.*\n)+)*", README, flags=re.M)
COMMANDS = [
    line.split("#")[0].strip().removeprefix("harness ")
    for block in BLOCKS
    for line in block.splitlines()
    if line.startswith("    harness ")
]
SMALL = {
    "pretrain": {
        "size": {"num_layers": 1, "hidden_size": 16, "num_heads": 1, "intermediate_size": 16},
        "corpus": {"source": "microworld", "num_tokens": 20_000},
        "budget": {"tokens": 2_000},
    },
    "seeds": {"pretrain": 2},
    "evaluate": {
        "suite": "micro-glue-v1",
        "tasks": ["micro-sst2"],
        "protocol": {"max_train_examples": 32},
        "finetune": {"epochs": 1},
    },
    "sweep": {"trials": 0},
}
FASTER = [
    *("--task", "micro-sst2", "--seeds", "1", "--set", "evaluate.finetune.epochs=1"),
    *("--set", "evaluate.protocol.max_train_examples=16"),
]
SERIAL = ["--executor", "serial"]
MORE = {"run": SERIAL, "evaluate": [*FASTER, *SERIAL], "profile": ["--updates", "2"]}
"""Command to further options that make it fast: each new process would load for seconds."""
REFUSED = {"submit": "glue"}
"""Commands that need another experiment, with a word of their answer."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `experiments/quickstart.yaml` made small, and `experiment.yaml`, its copy."""
    root = tmp_path_factory.mktemp("readme")
    (root / "experiments").mkdir()
    small = {"name": "quickstart", "extends": "quickstart", **SMALL}
    for name in ("experiments/quickstart.yaml", "experiment.yaml"):
        (root / name).write_text(yaml.safe_dump(small))
    return root


def run(words: list[str]) -> tuple[int, str]:
    result = CliRunner().invoke(app, [*words, *MORE.get(words[0], [])])
    return result.exit_code, result.output


def test_every_command_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    servers: list[list[str]] = []

    def serve(command: list[str]) -> int:
        servers.append(command)
        return 0

    monkeypatch.setattr("harness.cli.ui.serve", serve)
    lines = [shlex.split(command) for command in COMMANDS]
    lines.sort(key=lambda words: words[0] == "evaluate")  # its checkpoint is what `export` writes
    for words in lines:
        if words[0] == "evaluate":
            shutil.copytree("my-model", "a-checkpoint")
        code, output = run(words)
        if words[0] in REFUSED:
            assert code == 2 and REFUSED[words[0]] in output, (words, output)
        else:
            assert code == 0, (words, output)
    assert [command[1:4] for command in servers] == [["-m", "mlflow", "ui"]]
    assert {"my-report", "my-model", "out.parquet", "site", "my-study.yaml"} <= {
        path.name for path in Path().iterdir()
    }


def test_the_python_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the store that the commands filled, so that nothing is computed twice."""
    monkeypatch.chdir(folder)
    (block,) = (block for block in BLOCKS if "import harness" in block)
    names: dict[str, Any] = {}
    exec(dedent(block), names)
    assert names["study"].last_run.computed == []
    assert names["model"].config.hidden_size == 16 and len(names["tokenizer"]) > 5


def test_the_example_is_valid_and_learns_by_default() -> None:
    """It plans more updates than the least at which anything was learned (docs/small_models.md)."""
    (block,) = (block for block in BLOCKS if "name: nsp" in block)
    study = Study.declare(yaml.safe_load(dedent(block)))
    assert not study.warnings
    assert [cost.steps for cost in study.plan.costs.values() if (cost.steps or 0) < 3_000] == []


@pytest.mark.campaign
def test_the_example_learns(tmp_path: Path) -> None:
    """Minutes: one seed of the example and the network without pretraining."""
    (block,) = (block for block in BLOCKS if "name: nsp" in block)
    without = "pretrain.objective.sentence_pair"
    arms = {"none": {without: "none"}, "scratch": {without: "none", "pretrain.budget.tokens": 0}}
    changes = {"expect": [], "grid": {"arm": arms}, "seeds": {"pretrain": 1, "finetune": 1}}
    declared = {**yaml.safe_load(dedent(block)), **changes}
    table = harness.declare(declared, store=tmp_path).run(jobs=1).leaderboard()
    averages = table.set_index("arm")["average"]
    assert averages["none"] > averages["scratch"] + 15


def test_the_counts_of_findings_are_those_of_the_board() -> None:
    board = " ".join((ROOT / "docs/findings.md").read_text().split())
    readme = " ".join(README.split())
    verdicts = dict(re.findall(r"\| (confirmed|refuted|not tested) \| (\d+) \|", board))
    (experiments,) = re.findall(r"(\d+) experiments with small models", board)
    (share,) = re.findall(r"(\d+ %) are confirmed", board)
    (interval,) = re.findall(r"interval (\d+ to \d+ %), exact", board)
    decided = int(verdicts["confirmed"]) + int(verdicts["refuted"])
    for phrase in (
        f"What {experiments} studies say",
        f"of the {decided} that small experiments decide, {verdicts['confirmed']} come out as",
        f"published and {verdicts['refuted']} the other way ({share}, 95 % interval {interval})",
        f"{verdicts['not tested']} are not tested yet",
    ):
        assert phrase in readme
