"""Warnings of answers as text that a tokenizer cannot write."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.loading import load_tokenizer
from harness.data.tokenizers.schemes import SCHEMES
from harness.data.tokenizers.training import train
from harness.finetuning.heads.text_codec import TextCodec
from harness.plan.checks.written_answers import SPLITTING
from tests.plan.checks.test_checks import found, planned


def answered(folder: Path, reference: Any, kind: str, metric: str) -> dict[str, Any]:
    """A task of two texts on files, whose answer is a text."""
    row = {"one": "who?", "two": str(reference), "answer": reference}
    (folder / "rows.jsonl").write_text(f"{json.dumps(row)}\n" * 9)
    (folder / "dev.jsonl").write_text(f"{json.dumps(row)}\n" * 3)
    files = {"train": str(folder / "rows.jsonl"), "validation": str(folder / "dev.jsonl")}
    task = {
        "name": "mine",
        "kind": kind,
        "data": {"source": "jsonl", "files": files},
        "text_fields": ["one", "two"],
        "label_field": "answer",
        "metrics": [metric],
    }
    return {"suite": {"name": "own", "tasks": [task]}, "protocol": {"answer": "text"}}


def warned(evaluate: dict[str, Any], recipe: str = "t5", **tokenizer: Any) -> list[str]:
    pretrain = {"recipe": recipe, "tokenizer": {"vocab_size": 1_500} | tokenizer}
    return found("unwritable_answers", planned(pretrain, evaluate=evaluate))


@pytest.mark.parametrize(
    ("reference", "metric", "lowercase", "is_warned"),
    [
        ("Ein Hund", "bleu", True, True),
        ("Ein Hund", "bleu", False, False),
        ("Ein Hund", "rouge1", True, False),
        ("ein großer hund", "bleu", True, False),
        (["ein hund", "Ein Hund"], "bleu_intl", True, True),
    ],
)
def test_capital_letters(
    reference: Any, metric: str, lowercase: bool, is_warned: bool, tmp_path: Path
) -> None:
    lines = warned(answered(tmp_path, reference, "generation", metric), lowercase=lowercase)
    assert bool(lines) == is_warned
    for line in lines:
        assert line.startswith("x: the tokenizer writes no capital letters, which count in ")
        assert f"in {metric} of mine:" in line


@pytest.mark.parametrize(
    ("answer", "algorithm", "is_warned"),
    [
        ("3.5", "wordpiece", True),
        ("3.5", "bpe", True),
        ("3.5", "byte_bpe", False),
        ("3.5", "unigram", False),
        ("three .", "wordpiece", False),
    ],
)
def test_marks_within_words(answer: str, algorithm: str, is_warned: bool, tmp_path: Path) -> None:
    references = {"text": [answer], "answer_start": [11]}
    evaluate = answered(tmp_path, references, "extraction", "exact_match")
    assert str(references)[11:].startswith(answer)
    lines = warned(evaluate, algorithm=algorithm)
    assert bool(lines) == is_warned
    for line in lines:
        assert line.startswith(f"x: the tokenizer ({algorithm}) writes spaces beside")


@pytest.mark.parametrize("algorithm", SCHEMES)
def test_the_algorithms_that_write_spaces(algorithm: str, tmp_path: Path) -> None:
    settings = {"algorithm": algorithm, "vocab_size": 300, "lowercase": False}
    train(Tokenizer.model_validate(settings), iter(["for 3.5 hours"] * 9), tmp_path)
    written = TextCodec(load_tokenizer(tmp_path)).round_trip("for 3.5 hours")
    assert (written == "for 3.5 hours") == (algorithm not in SPLITTING)


def test_other_data_and_arms() -> None:
    """Data of the Hub are not opened; the micro-world loses nothing; an encoder writes nothing."""
    suite = {"name": "own", "tasks": ["multi30k_ende", "micro-mt-a"]}
    (line,) = warned({"suite": suite}, lowercase=True)
    assert "bleu and bleu_intl of multi30k_ende:" in line and "micro" not in line
    assert warned({"suite": suite}, "bert", lowercase=True) == []
