"""The size of a corpus of local files before it is read."""

from pathlib import Path

import pytest

from harness.data.corpora import size
from harness.data.corpora.size import CorpusSize, corpus_size
from harness.data.corpora.sources import TextCorpus

TEXT = "One two three.\n\nFour five.\n\nOne two three.\n"


@pytest.mark.parametrize("step", [None, "normalise", "deduplicate"])
def test_documents_and_words_are_counted_after_the_steps(tmp_path: Path, step: str | None) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    rest = (2, 5) if step == "deduplicate" else (3, 8)
    corpus = TextCorpus.model_validate({"path": str(path), "steps": [step] if step else None})
    assert corpus_size(corpus) == CorpusSize(1, len(TEXT), *rest)


@pytest.mark.parametrize(
    "step", ["deduplicate_near", "language", {"kind": "decontaminate", "suite": "micro-glue-v1"}]
)
def test_no_document_is_read_through_slow_steps(
    tmp_path: Path, step: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    monkeypatch.delattr(size, "read_documents")
    corpus = TextCorpus.model_validate({"path": str(path), "steps": ["normalise", step]})
    assert corpus_size(corpus) == CorpusSize(1, len(TEXT))
