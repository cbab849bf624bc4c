"""`harness data stats` and `harness data show`: what they print, draw and refuse."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.tasks.evaluation_texts import evaluation_texts

EXPERIMENT = """
name: small
question: What does it read?
pretrain:
  recipe: roberta
  size: {num_layers: 1, hidden_size: 16, num_heads: 1, intermediate_size: 16}
  corpus:
    source: mixture
    sources:
      world: {source: microworld, num_tokens: 20_000}
      own: {source: jsonl, path: own.jsonl}
    weights: {world: 3, own: 1}
    num_bytes: 100k
  tokenizer: {vocab_size: 400}
  batch_size: 8
  budget: {tokens: 50_000}
grid:
  arm:
    masked: {pretrain.objective: mlm}
    spans: {pretrain.recipe: t5, pretrain.tokenizer.sentinels: 60}
evaluate: {suite: micro-glue-v1, tasks: [micro-sst2]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with `small.yaml` and a text of 12 documents, two of them twice."""
    for name in ("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "RAYON_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.chdir(tmp_path)
    # 10 words of the sentence, and 12 letters, of which "a" is one of the words.
    texts = [
        f"text {'abcdefghijkl'[k]} of twelve words is here for a test of counts" for k in range(12)
    ]
    lines = [json.dumps({"text": text}) for text in [*texts, *texts[:2]]]
    (tmp_path / "own.jsonl").write_text("\n".join(lines))
    (tmp_path / "small.yaml").write_text(EXPERIMENT)
    (tmp_path / "empty.txt").touch()
    return tmp_path


def call(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["data", *words])
    return result.exit_code, result.output


def test_statistics_count_documents_words_and_duplicates(folder: Path) -> None:
    code, output = call("stats", "own.jsonl", "--svg", "figures/lengths.svg")
    assert code == 0, output
    row = next(line for line in output.splitlines() if line.strip().startswith("own.jsonl")).split()
    assert row[1:6] == ["14", "1", "14", str(14 * 12), "21"]
    assert "2 (14 %)" in output
    assert "<svg" in (folder / "figures" / "lengths.svg").read_text()


def test_a_single_document_is_counted_though_it_is_held_out(folder: Path) -> None:
    """As a file without blank lines, or a text from standard input, is one document."""
    (folder / "one.txt").write_text("one two three .\nfour five .")
    code, output = call("stats", "one.txt")
    assert code == 0, output
    row = next(line for line in output.splitlines() if line.strip().startswith("one.txt")).split()
    assert row[1:5] == ["1", "1", "1", "7"]


def test_statistics_find_evaluation_text(folder: Path) -> None:
    text = next(one for one in evaluation_texts("micro-glue-v1") if len(one.split()) >= 8)
    with (folder / "own.jsonl").open("a") as file:
        file.write("\n" + json.dumps({"text": f"before it {text} and after it"}))
    code, output = call("stats", "own.jsonl", "--suite", "micro-glue-v1")
    assert code == 0, output
    assert "1 (6.7 %)" in output


def test_statistics_of_an_experiment_are_those_of_each_source(folder: Path) -> None:
    code, output = call("stats", "small.yaml")
    assert code == 0, output
    rows = [line.split() for line in output.splitlines() if line.strip().startswith("masked")]
    assert [row[:3] for row in rows] == [
        ["masked,", "spans:", "world"],
        ["masked,", "spans:", "own"],
    ] or [row[:3] for row in rows] == [["masked,", "spans:", "own"], ["masked,", "spans:", "world"]]


def test_statistics_of_a_shipped_experiment(folder: Path) -> None:
    """By its name, with overrides; text of that name comes first."""
    code, output = call("stats", "smoke", "--set", "pretrain.corpus.num_tokens=20_000")
    assert code == 0 and "dynamic" in output, output
    (folder / "smoke").mkdir()
    (folder / "smoke" / "a.txt").write_text("one two three")
    code, output = call("stats", "smoke")
    assert code == 0 and "dynamic" not in output, output


def test_held_out_text_of_its_own_has_a_row(folder: Path) -> None:
    (folder / "other.txt").write_text("\n\n".join(["one two three"] * 5))
    held_out = "pretrain.held_out={source: text, path: other.txt}"
    corpus = "pretrain.corpus={source: jsonl, path: own.jsonl}"
    code, output = call("stats", "small.yaml", "--set", corpus, "--set", held_out)
    assert code == 0, output
    rows = [line.split() for line in output.splitlines() if line.strip().startswith("masked")]
    found = {" ".join(row[:4]): row for row in rows}
    assert found["masked, spans: held out"][4:6] == ["5", "5"]
    assert found["masked, spans 14 0"][2:4] == ["14", "0"]
    empty = "pretrain.corpus={source: text, path: empty.txt}"
    code, output = call("stats", "small.yaml", "--set", empty, "--set", held_out)
    assert code == 2 and "must have documents with text, but has none" in output


def test_a_batch_is_printed_before_and_after_the_transform(folder: Path) -> None:
    code, output = call(
        "show", "small.yaml", "--step", "3", "--rows", "2", "--svg", "figures/batch.svg"
    )
    assert code == 0, output
    lines = [line for line in output.splitlines() if line.startswith(("text", "input", "target"))]
    assert [line.split()[0] for line in lines] == ["text", "input", "target"] * 2
    assert "<mask>" in lines[1] and "<mask>" not in lines[0]
    assert "<svg" in (folder / "figures" / "batch.svg").read_text()
    again = call("show", "small.yaml", "--step", "3", "--rows", "2")[1]
    assert again.splitlines()[-7:] == output.splitlines()[-7:]
    code, output = call("show", "small.yaml", "--arm", "spans", "--rows", "1")
    assert code == 0 and "<extra_id_0>" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "small.yaml", "--step", "10000"), "--step must be less than"),
        (("show", "small.yaml", "--arm", "none"), "the arm"),
        (("stats", "nothing.txt"), "must name a .txt"),
        (("stats", "nothing"), "the corpus or file"),
        (("stats", "empty.txt"), "empty.txt must have documents with text, but has none"),
        (("stats", "own.jsonl", "--suite", "glu"), "the suite"),
        (
            ("stats", "own.jsonl", "--set", "seeds.pretrain=2"),
            "--set and --variant are of experiments, but own.jsonl is a corpus",
        ),
        (("stats", "microworld", "--variant", "small"), "but microworld is a corpus"),
    ],
)
def test_bad_requests_are_one_line(folder: Path, words: tuple[str, ...], message: str) -> None:
    code, output = call(*words)
    assert code == 2 and message in output and "Traceback" not in output
