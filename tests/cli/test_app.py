"""Commands that compute nothing: their output, suggestions and exit codes."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner

from harness.cli.app import app
from harness.cli.ui import serve
from harness.core.signals import exit_code, terminated_as_interrupted
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


def test_the_list_of_commands_has_whole_sentences() -> None:
    """In the 80 columns of `harness --help`; what does not fit ends in an ellipsis."""
    commands = [typer.main.get_command(app)]
    for command in commands:
        commands += getattr(command, "commands", {}).values()
    assert len(commands) > 30
    cut = [one.name for one in commands[1:] if one.get_short_help_str(59).endswith("...")]
    assert cut == []


@pytest.mark.parametrize("registry", REGISTRIES)
def test_every_member_is_listed_and_shown(registry: str) -> None:
    code, listed = call("list", registry)
    assert code == 0
    for name in members(registry):
        assert name in listed
        code, shown = call("show", registry, name)
        assert code == 0
        assert shown.startswith(f"{name}:")


def test_without_a_registry_all_are_listed() -> None:
    code, output = call("list")
    lines = [line.split() for line in output.splitlines()]
    assert code == 0
    assert [line[0] for line in lines if line[:1] and line[0] in REGISTRIES] == list(REGISTRIES)
    assert [str(len(members("tasks")))] == [line[1] for line in lines if line[:1] == ["tasks"]]


def test_text_of_tasks_corpora_and_files_is_shown(tmp_path: Path) -> None:
    def shown(*words: str) -> Any:
        code, output = call("show", *words)
        assert code == 0
        return yaml.safe_load(output)

    found = shown("tasks", "micro-mnli", "--examples", "3")
    assert len(found) == 3 and list(found[0]) == ["sentence1", "sentence2", "label"]
    assert {one["label"] for one in found} <= {"entailment", "neutral", "contradiction"}
    text, table = tmp_path / "a.txt", tmp_path / "train.csv"
    text.write_text("One line\nand another.\n\nTwo.\n\n" + "Long. " * 200)
    rows = "".join(f"a fine meal {row},{'good' if row % 2 else 'bad'}\n" for row in range(60))
    table.write_text("text,label\n" + rows)
    first, second, third = shown("corpora", str(text), "--examples", "9")
    assert (first, second) == ("One line and another.", "Two.")
    assert third.endswith("Long. ...") and len(third) <= 400
    assert shown("corpora", "microworld", "--examples", "1")[0].endswith(".")
    (example,) = shown("tasks", str(table), "--examples", "1")
    assert example["text"].startswith("a fine meal") and example["label"] in ("good", "bad")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("recipes", "bert"),
            "--examples is for corpora, tasks, objectives, but not",
        ),
        (("tasks", "micro-mnly"), "did you mean 'micro-mnli'"),
        (("tasks", "no.csv"), "needs the file no.csv, but it does not exist in "),
        (("corpora", "no/*.txt"), "matches no file in "),
    ],
)
def test_text_that_cannot_be_shown(words: tuple[str, ...], message: str) -> None:
    code, output = call("show", *words, "--examples", "1")
    assert code == 2 and message in output and output.count("\n") == 1


def test_files_of_other_kinds_get_advice(tmp_path: Path) -> None:
    table = tmp_path / "mc.jsonl"
    table.write_text('{"question": "who?", "choices": ["a", "b"], "answer": 1}\n' * 9)
    code, output = call("show", "tasks", str(table), "--examples", "2")
    assert code == 2 and output.count("\n") == 1
    assert "--examples shows files of classification and regression alone" in output
    separated = tmp_path / "semicolons.csv"
    separated.write_text("text;label\na fine meal;good\n")
    code, output = call("show", "tasks", str(separated), "--examples", "2")
    assert code == 2 and output.startswith(f"{separated}: columns must be separated by commas")
    assert "--examples" not in output  # another kind would not help
    for registry in ("tasks", "corpora"):
        code, output = call("show", registry, str(table))
        assert code == 2 and output.count("\n") == 1
        assert f"mc.jsonl is a file or folder and none of the {registry}; --examples 2" in output
    assert "there are" in call("show", "tasks", "no-such.jsonl")[1]


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
        ("harness plan quick", ["quickstart"]),
        ("harness plan mine", ["mine.yaml", "mine.yml"]),
        ("harness plan fold", []),  # a folder: the shell completes the path
        ("harness plan folder/qu", []),
        ("harness plan ", []),
        ("harness run english_objectives --variant lo", ["local_text"]),
        ("harness run --variant ", []),
        ("harness run nothing --variant ", []),
        ("harness compare quickstart ro", ["roberta"]),
        ("harness profile quickstart --arm b", ["bert"]),
    ],
)
def test_the_shell_completes_names(
    words: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("mine.yaml", "mine.yml", "mine.txt"):
        (tmp_path / name).write_text("")
    line = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    result = CliRunner().invoke(
        app, prog_name="harness", env={"_HARNESS_COMPLETE": "complete_bash", **line}
    )
    assert result.output.split() == expected


@pytest.mark.parametrize("path", OFFLINE, ids=lambda path: path.stem)
def test_every_shipped_experiment_can_be_planned(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A mirror may lack some of their many data sets, or BabyLM's text.
    if path.parent.name == "checkpoints" or path.stem.startswith(("english_", "electra_")):
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
    assert f"no results on glue in the store {tmp_path}" in output


def test_mlflow_opens_on_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "runs")
    store.create_folder()
    commands: list[list[str]] = []
    monkeypatch.setattr("harness.cli.ui.serve", commands.append)
    arguments = ("ui", "smoke", "--store", str(store.root), "--port", "5001")
    code, output = call(*arguments)
    assert code == 2 and "has no runs of smoke; first: harness run smoke" in output
    assert not commands
    server = store.tracking("smoke")
    server.start("an arm", {"kind": "arm"})
    code, output = call(*arguments)
    assert code == 0
    assert f"at http://127.0.0.1:5001/#/experiments/{server.experiment_id}, which" in output
    (command,) = commands
    assert f"sqlite:///{store.root / 'mlflow.db'}" in command


def test_a_server_that_is_stopped_while_it_starts_does_not_remain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started = []

    class Stopped(subprocess.Popen):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Stopped)
    assert serve([sys.executable, "-c", "import signal; signal.pause()"]) == 0
    assert started[0].poll() == -signal.SIGTERM


def test_a_server_ends_with_its_code_or_quietly_when_it_is_stopped() -> None:
    assert serve([sys.executable, "-c", "raise SystemExit(3)"]) == 3
    stop = "import os, signal; os.kill(os.getppid(), signal.SIGTERM); signal.pause()"
    assert serve([sys.executable, "-c", stop]) == 0


HOLD = """
import fcntl, sys, time
held = open(sys.argv[1], "a")
fcntl.flock(held, fcntl.LOCK_EX)
print(flush=True)  # else the line would wait for the end of the process
time.sleep(20)
held.write("ended by itself")
held.flush()
"""
"""A process that holds a lock until it ends."""
SERVER = """
import os, signal, subprocess, sys
worker = subprocess.Popen([sys.executable, "-c", *sys.argv[2:]], stdout=subprocess.PIPE)
worker.stdout.readline()
if sys.argv[1] != "0":
    os.kill(os.getppid(), int(sys.argv[1]))
    signal.pause()
"""
"""Starts such a process, and then sends a signal to `serve`, or ends."""


@pytest.mark.parametrize("number", [0, signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_no_process_of_a_server_remains(number: int, tmp_path: Path) -> None:
    words = [str(int(number)), HOLD, str(tmp_path / "lock")]
    assert serve([sys.executable, "-c", SERVER, *words]) == 0
    with (tmp_path / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # waits as long as the process lives
    assert not (tmp_path / "lock").read_text()


def test_a_signal_that_another_thread_gets_ends_a_server(tmp_path: Path) -> None:
    """It interrupts no system call of the main thread."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def stop() -> None:
        fifo.read_text()  # waits until the server has started
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    thread = threading.Thread(target=stop)
    thread.start()
    server = "import signal, sys; open(sys.argv[1], 'w').close(); signal.pause()"
    assert serve([sys.executable, "-c", server, str(fifo)]) == 0
    thread.join()


def test_a_run_under_nohup_goes_on() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminated_as_interrupted():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_exit_codes_of_signals(number: int, code: int) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt) as stop, terminated_as_interrupted():
        signal.raise_signal(number)
    assert exit_code(stop.value) == code
    assert signal.getsignal(number) == before


def test_the_schema_is_printed() -> None:
    code, output = call("schema")
    assert code == 0
    assert "pretrain" in json.loads(output)["properties"]


def test_commands_say_that_an_experiment_was_never_run(tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "none"))
    for command, expected in (("status", 0), ("leaderboard", 2), ("report", 2)):
        code, output = call(command, "smoke", *store)
        assert code == expected
        assert "smoke was never run" in output and output.count("\n") == 1
    code, output = call("export", "smoke", str(tmp_path / "out"), *store)
    assert code == 2 and "one of static, dynamic, scratch" in output
