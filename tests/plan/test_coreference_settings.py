"""Settings that do not suit tasks of coreference are refused or named when planning."""

from pathlib import Path

import pytest

from harness.study import Study

EXPERIMENT = """
name: entities
question: Which mentions are of one entity?
pretrain: {recipe: bert, size: nano, tokenizer: {vocab_size: 500}, budget: {tokens: 0}}
evaluate:
  suite: micro-elmo-v2
  tasks: [micro-coref-documents]
"""
SIFT = "sift_weight needs outputs that are classes, places or values, but "


def planned(folder: Path, evaluate: str = "") -> Study:
    (folder / "entities.yaml").write_text(EXPERIMENT + evaluate)
    return Study.load(folder / "entities.yaml", (), folder / "runs")


@pytest.mark.parametrize(
    ("evaluate", "message"),
    [
        (
            "  finetune: {sift_weight: 1}",
            f"{SIFT}those of micro-coref-documents are scores of pairs",
        ),
        (
            "  intermediate_tasks: [{task: micro-coref-documents, finetune: {sift_weight: 1}}]",
            f"{SIFT}those of micro-coref-documents are scores of pairs",
        ),
    ],
)
def test_sift_is_refused(tmp_path: Path, evaluate: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        planned(tmp_path, evaluate)


def test_mentions_are_not_answered_as_text(tmp_path: Path) -> None:
    plan = planned(tmp_path, "  protocol: {answer: text}").plan
    (why,) = plan.unsupported.values()
    assert why == "the mentions of a document have no form as text"
