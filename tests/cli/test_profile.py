"""`harness profile`: what it prints, writes and refuses."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.execution import utilisation

EXPERIMENT = """
name: small
question: How fast is it?
pretrain:
  recipe: bert
  size: {num_layers: 1, hidden_size: 16, num_heads: 1, intermediate_size: 16}
  corpus: {source: microworld, num_tokens: 20_000}
  budget: {tokens: 100_000}
grid:
  arm: {scratch: {pretrain.budget.tokens: 0}, bert: {pretrain.batch_size: 8}}
evaluate: {suite: micro-glue-v1, tasks: [micro-sst2]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with `small.yaml`; the device's peak is measured in no time."""
    for name in ("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # the command sets them, and they are restored
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(utilisation, "MEASURED_SIDES", {"cpu": 64})
    monkeypatch.setattr(utilisation, "MEASURED_SECONDS", 0.01)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    return tmp_path


def call(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["profile", "small.yaml", *words])
    return result.exit_code, result.output


def test_a_profile_is_printed_and_nothing_is_stored(folder: Path) -> None:
    code, output = call("--updates", "4", "--trace", "traces/one.json")
    assert code == 0, output
    assert "bert: 4 updates on cpu (threads: 1), 32-true" in output
    rows = {line.split()[0]: line.split()[1:] for line in output.splitlines() if line.strip()}
    parts = ["data", "transfer", "forward", "backward", "optimiser", "framework"]
    shares = [float(rows[part][1]) for part in parts]
    assert min(shares) >= 0 and sum(shares) == pytest.approx(100, abs=0.5)
    whole = [float(rows[part][-2]) for part in (*parts, "start", "evaluation", "storage")]
    assert sum(whole) == pytest.approx(100, abs=0.5)
    assert "measured by a product of two large matrices" in output
    assert {"tokens/s:", "MFU:", "peak", "aten::addmm"} <= rows.keys()
    assert json.loads(Path("traces/one.json").read_text())["traceEvents"]
    assert {path.name for path in folder.iterdir()} == {"small.yaml", "traces"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--arm", "brt"), "small: the arm 'brt' is not known; did you mean 'bert'"),
        (("--arm", "scratch"), "the arm scratch must have updates of pretraining"),
        (("--set", "pretrain.budget.tokens=0", "--set", "grid={}"), "an arm must have updates"),
        (("--trace", "."), "--trace must be a file, but . is a folder"),
    ],
)
def test_bad_input_is_one_line(folder: Path, words: tuple[str, ...], message: str) -> None:
    code, output = call(*words)
    assert code == 2 and message in output and output.count("\n") == 1, output
