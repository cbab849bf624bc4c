"""Texts that no corpus should have: whole sentences and documents, not their words."""

from harness.tasks import TASKS
from harness.tasks.evaluation_texts import evaluation_fingerprints, evaluation_texts
from harness.tasks.load_examples import fingerprint, load_examples


def test_words_of_a_sentence_and_sentences_of_a_document_are_one_text() -> None:
    found = list(evaluation_texts("micro-elmo-v2"))
    for name in ("micro-ner", "micro-coref-documents"):
        task = TASKS[name]
        first = load_examples(task, task.evaluation[0]).texts[0]
        assert " ".join(first) in found and first[0] not in found


def test_fingerprints_of_lists_have_a_version() -> None:
    found = evaluation_fingerprints("micro-elmo-v2")
    assert found["micro-sst2"] == fingerprint(TASKS["micro-sst2"])
    assert found["micro-ner"] == fingerprint(TASKS["micro-ner"]) + ";version=2"
