"""Commands that compute nothing: their output, suggestions and exit codes."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.data import hub
from harness.experiment.registries import REGISTRIES, members
from harness.store.store import Store
from tests.paths import EXPERIMENTS

OFFLINE = [path for path in EXPERIMENTS if path.stem != "real_glue_small"]


def call(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output


def test_the_version_is_that_of_the_package() -> None:
    assert call("--version") == (0, f"pretraining-harness {version('pretraining-harness')}\n")


@pytest.mark.parametrize("registry", REGISTRIES)
def test_every_member_is_listed_and_shown(registry: str) -> None:
    code, listed = call("list", registry)
    assert code == 0
    for name in members(registry):
        assert name in listed
        code, shown = call("show", registry, name)
        assert code == 0
        assert shown.startswith(f"{name}:")


def test_unknown_names_get_a_suggestion() -> None:
    assert call("list", "recipe")[0] == 2
    code, output = call("show", "recipes", "robert")
    assert code == 2
    assert "did you mean roberta" in output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("harness list adap", ["adaptations"]),
        ("harness show adaptations l", ["layer_norms", "lora"]),
        ("harness show diagnostics w", ["weight_change"]),
        ("harness show nothing w", []),
    ],
)
def test_the_shell_completes_registries_and_members(words: str, expected: list[str]) -> None:
    line = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    result = CliRunner().invoke(
        app, prog_name="harness", env={"_HARNESS_COMPLETE": "complete_bash", **line}
    )
    assert result.output.split() == expected


@pytest.mark.parametrize("path", OFFLINE, ids=lambda path: path.stem)
def test_every_shipped_experiment_can_be_planned(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path.parent.name == "checkpoints":  # a mirror may lack some of their many data sets
        monkeypatch.delenv(hub.MIRROR, raising=False)
    code, output = call("plan", str(path))
    assert code == 0, output
    assert "stages:" in output


def test_overrides_reach_the_plan() -> None:
    path = str(OFFLINE[0])
    assert call("plan", path, "--set", "seeds.pretrain=7")[1] != call("plan", path)[1]
    code, output = call("plan", path, "--set", "seeds.pretrian=2")
    assert code == 2
    assert "pretrain" in output


def test_an_unknown_board_is_refused(tmp_path: Path) -> None:
    code, output = call("leaderboard", "glu", "--store", str(tmp_path))
    assert code == 2
    assert "glue" in output


def test_a_board_without_results_shows_the_published_rows(tmp_path: Path) -> None:
    code, output = call("leaderboard", "glue", "--store", str(tmp_path))
    assert code == 0
    assert "BERT_LARGE" in output
    assert "82.1" in output


def test_mlflow_opens_on_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "runs")
    commands: list[list[str]] = []
    monkeypatch.setattr("subprocess.call", commands.append)
    arguments = ("ui", "smoke", "--store", str(store.root), "--port", "5001")
    code, output = call(*arguments)
    assert code == 2 and "has no runs of smoke; first: harness run smoke" in output
    assert not commands
    server = store.tracking("smoke")
    server.start("an arm", {"kind": "arm"})
    code, output = call(*arguments)
    assert code == 0
    assert output == f"http://127.0.0.1:5001/#/experiments/{server.experiment_id}\n"
    ((*_, uri),) = commands
    assert uri == f"sqlite:///{store.root / 'mlflow.db'}"


def test_the_schema_is_printed() -> None:
    code, output = call("schema")
    assert code == 0
    assert "pretrain" in json.loads(output)["properties"]


def test_an_experiment_that_was_never_run_is_said_so(tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "none"))
    for command, expected in (("status", 0), ("leaderboard", 2), ("report", 2)):
        code, output = call(command, "smoke", *store)
        assert code == expected
        assert "smoke was never run" in output and output.count("\n") == 1
    code, output = call("export", "smoke", str(tmp_path / "out"), *store)
    assert code == 2 and "one of static, dynamic, scratch" in output
