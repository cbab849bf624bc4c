"""The plug-ins of docs/python.md as printed, on sizes made small; errors in their code."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.execution.worker_process import WorkerProcess
from harness.experiment import plugins
from harness.experiment.plugins import PluginError
from harness.study import Study
from tests.paths import ROOT

PAGE = (ROOT / "docs/python.md").read_text()
FILES = dict(re.findall(r"^```\w+\n# ([\w.]+)\n(.*?)^```", PAGE, flags=re.M | re.S))
COMMANDS = re.findall(r"^ {4}harness (.+)$", PAGE, flags=re.M)
SMALL = [
    "pretrain.size={num_layers: 1, hidden_size: 16, num_heads: 2, intermediate_size: 32}",
    "pretrain.corpus={source: microworld, num_tokens: 20_000}",
    "pretrain.tokenizer.vocab_size=600",
    "pretrain.phases=[{fraction: 1, sequence_length: 32}]",
    "pretrain.batch_size=4",
    "pretrain.budget.tokens=512",
    "evaluate.protocol={max_train_examples: 32, max_sequence_length: 32}",
    "evaluate.finetune.epochs=1",
    "seeds={pretrain: 1, finetune: 1}",
]
RAISES = "raise KeyError('foo')\n"
TRAINING = "if self._trainer: "  # not when a plan tries the module
pytestmark = pytest.mark.usefixtures("forget_plugins")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page, which is neither the working folder nor on the path."""
    for name, body in FILES.items():
        (tmp_path / name).write_text(body)
    return tmp_path


def run(*words: str) -> tuple[int, str]:
    options = [part for field in SMALL for part in ("--set", field)]
    result = CliRunner().invoke(app, [*words, *options])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    "executor",
    ["serial", pytest.param("processes", marks=pytest.mark.campaign)],  # loads for seconds
)
def test_the_example_runs_as_printed(
    executor: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert sorted(command.split()[0] for command in COMMANDS) == ["plan", "run"]
    for command in COMMANDS:
        more = ["--executor", executor] if command.startswith("run") else []
        code, output = run(*shlex.split(command), *more, "--jobs", "1")
        assert code == 0, output
    for name in ("roberta", "periodic", "smoothed", "sts-within-one", "comparisons"):
        assert name in output


def test_worker_processes_import_the_plug_ins_themselves(folder: Path) -> None:
    """From the folder of the experiment, which is on the path once it was planned."""
    plan = Study.load(folder / "mine.yaml", SMALL, folder / "runs").plan
    (digest,) = {
        stage.spec["plugins"]["comparisons"]
        for stage in plan.stages.values()
        if "comparisons" in stage.spec.get("plugins", ())
    }
    worker = WorkerProcess(1)
    assert worker.submit(plugins.load_plugin, "comparisons").result() == digest
    worker.close()


def test_a_data_set_is_in_the_keys_of_the_stages_that_read_it(folder: Path) -> None:
    plan = Study.load(folder / "mine.yaml", SMALL, folder / "runs").plan
    users = {
        s.spec["task"] for s in plan.stages.values() if "comparisons" in s.spec.get("plugins", ())
    }
    assert users == {"comparisons"}


def test_the_name_of_a_data_set_has_a_plug_in(folder: Path) -> None:
    file = folder / "mine.yaml"
    file.write_text(file.read_text().replace("data: comparisons", "data: comparison"))
    code, output = run("plan", str(file))
    assert code == 2 and output.startswith(f"{file}:") and output.count("\n") == 1
    assert "'comparison'" in output and "needs its module in plugins" in output


def edit(file: Path, signature: str, when: str = "") -> int:
    """Makes the function with this signature raise; returns the line."""
    head, tail = file.read_text().split(signature)
    indent = " " * (len(signature) - len(signature.lstrip()) + 4)
    file.write_text(f"{head}{signature}{indent}{when}{RAISES}{tail}")
    return head.count("\n") + 2


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("periodic_masking", "def periodic_masking(settings, rows, rng, vocabulary):\n"),
        ("label_smoothing", "    def loss(self, part, step):\n"),
        ("within_one", "def is_close(labels, predictions, groups, names):\n"),
        ("comparisons", "def comparisons(split):\n"),
    ],
)
def test_an_error_while_planning_is_one_line(folder: Path, name: str, signature: str) -> None:
    file = folder / f"{name}.py"
    line = edit(file, signature)
    code, output = run("plan", str(folder / "mine.yaml"))
    place = f"in the plug-in {name!r} ({file}:{line})"
    assert (code, output) == (2, f"KeyError: 'foo', {place}\n")


PARAMETER = "import torch\nOWN = torch.nn.Parameter(torch.ones(()))\n"
"""A weight of the file, which no module owns."""
IS_CLOSE = "abs(labels - predictions) <= 1"
WRONG = [
    ("periodic_masking", "return TransformResult(", "TransformResult(", "return a TransformResult"),
    ("periodic_masking", "inputs, rows.lengths", "inputs[:, 1:], rows.lengths", "return inputs ["),
    ("periodic_masking", "inputs, rows.lengths", "inputs, rows.lengths[1:]", "return lengths ["),
    ("periodic_masking", "aligned=True", "aligned=False", "return aligned=True for the output"),
    (
        "periodic_masking",
        "chosen = rows.maskable",
        "chosen = rows.tokens > 0",
        "return chosen only",
    ),
    ("periodic_masking", "= rng.integers", "= np.random.default_rng().integers", "draw from its "),
    ("periodic_masking", "chosen = rows", "chosen = (place < -1) & rows", "choose tokens for the"),
    ("periodic_masking", "vocabulary.mask,", "vocabulary.size,", "return inputs with ids of the "),
    ("label_smoothing", "return loss /", "return step.counts['token'] /", "have a loss that is"),
    ("label_smoothing", "loss / max", "OWN * loss / max", "must own all weights of its loss, but"),
    ("label_smoothing", "    def loss(", "    def __init__(", "the module 'label_smoothing' fails"),
    ("within_one", IS_CLOSE, "abs(labels - predictions)", "be higher for better predictions"),
    ("within_one", IS_CLOSE, "None", "the metric 'within_one' fails on made-up data: Attribute"),
    ("comparisons", 'yield {"text": text,', 'yield {text: "",', "must return or yield examples, "),
    ("comparisons", "    for _", "    return\n    for _", "must return or yield examples, "),
]
"""File, its text, what replaces it, and the message."""


@pytest.mark.parametrize(("name", "text", "other", "message"), WRONG)
def test_what_is_wrong_is_found_while_planning(
    folder: Path, name: str, text: str, other: str, message: str
) -> None:
    file = folder / f"{name}.py"
    head, tail = file.read_text().split(text)
    file.write_text(f"{head}{other}{tail}{PARAMETER if 'OWN' in other else ''}")
    code, output = run("plan", str(folder / "mine.yaml"))
    assert code == 2 and message in output and output.count("\n") == 1
    assert f", in the plug-in {name!r} ({file}:" in output


def test_an_error_while_planning_is_the_same_in_python(folder: Path) -> None:
    file = folder / "periodic_masking.py"
    line = edit(file, "def periodic_masking(settings, rows, rng, vocabulary):\n")
    with pytest.raises(PluginError) as caught:
        _ = Study.load(folder / "mine.yaml", SMALL, folder / "runs").plan
    place = f"in the plug-in 'periodic_masking' ({file}:{line})"
    assert str(caught.value) == f"KeyError: 'foo', {place}"


def test_an_error_in_a_stage_is_one_line_with_its_traceback_in_a_file(folder: Path) -> None:
    file = folder / "label_smoothing.py"
    line = edit(file, "    def loss(self, part, step):\n", TRAINING)
    study = Study.load(folder / "mine.yaml", SMALL, folder / "runs")
    study.run(executor="serial", raise_on_failure=False)
    ((key, reason),) = study.last_run.failed.items()
    assert reason == f"KeyError: 'foo', in the plug-in 'label_smoothing' ({file}:{line})"
    report = (folder / "runs" / "work" / key / "error.txt").read_text()
    assert report.startswith("Traceback") and report.endswith(reason)
