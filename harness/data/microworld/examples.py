"""Examples of the tasks, and the answers of an oracle.

Train and evaluation sets use different open words, except in translation and reading
comprehension: the vocabulary of the dev sets occurs only in the pretraining corpus.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from harness.data.microworld import (
    continuation,
    dependencies,
    diagnostics,
    dialogue,
    domain_transfer,
    domains,
    inference,
    mentions,
    overlap,
    passages,
    pronouns,
    reading_comprehension,
    retrieval,
    roles,
    sentence_tasks,
    similarity,
    summaries,
    tagging,
    translation,
)
from harness.data.microworld.sampling import DataSet, Labelled, MultipleChoice, Rows, Sampled, check

ONE = ("sentence1",)
MOST_TOGETHER = passages.NUM_ANSWERS
"""Examples that are made at once, at most."""
GLUE = (
    Labelled("acceptability", sentence_tasks.acceptability, ONE),
    Labelled("sentiment", sentence_tasks.sentiment, ONE),
    Labelled("paraphrase", sentence_tasks.paraphrase),
    Labelled("similarity", sentence_tasks.similarity, num_answers=5, scored=True),
    Labelled("entailment", sentence_tasks.entailment),
    Labelled("question", sentence_tasks.question),
    Labelled("duplicate", inference.duplicate),
    Labelled(
        "inference",
        inference.inference,
        num_answers=3,
        sizes={"train": 1_000, "validation_matched": 1_000, "validation_mismatched": 1_000},
        texts_by_split={"validation_mismatched": inference.inference_in_dialogue},
    ),
    Labelled("winograd", pronouns.winograd),
)
"""Data sets modelled on GLUE."""
SUPERGLUE = (
    Labelled("yes_no_question", passages.yes_or_no, ("passage", "question")),
    Labelled(
        "commitment",
        inference.commitment,
        ("premise", "hypothesis"),
        num_answers=3,
        sizes={"train": 250, "validation": 250},
    ),
    MultipleChoice("plausible_alternative", passages.plausible),
    passages.Grouped("answer_correctness", sizes={"train": 999, "validation": 999}),
    MultipleChoice("entity_cloze", passages.filling),
    Labelled("same_reference", pronouns.same_reference, ("word", "sentence1", "sentence2")),
    Labelled("coreference", pronouns.coreference, ("text", "statement")),
    diagnostics.WithPairs(
        "entailment_with_diagnostics",
        sentence_tasks.entailment,
        sizes={"train": 1_000, "validation": 1_000, "axb": 1_000, diagnostics.PAIRS: 1_000},
        texts_by_split={"axb": diagnostics.phenomena},
    ),
)
"""Data sets modelled on SuperGLUE."""
DOMAIN_TASKS: dict[str, domains.DomainTask] = {
    f"{domain}_{topic}": domains.DomainTask(domain, number)
    for domain, topics in domains.TOPICS.items()
    for number, topic in enumerate(topics)
}
"""Generator to the domain task that it draws: `biomed_drugs`, ..."""
OTHERS = (
    Sampled(
        "reading_comprehension",
        reading_comprehension.answerable,
        sizes=reading_comprehension.SIZES,
        all_words=True,
    ),
    Sampled(
        "unanswerable_reading_comprehension",
        reading_comprehension.maybe_answerable,
        sizes=reading_comprehension.SIZES,
        all_words=True,
    ),
    Sampled("continuation", continuation.continuation),
    Sampled("dialogue", dialogue.response),
    Sampled("entities", tagging.entities),
    Sampled("parts_of_speech", tagging.parts_of_speech),
    Sampled("word_heads", dependencies.word_heads),
    Sampled("semantic_roles", roles.semantic_roles),
    Sampled("mention_clusters", mentions.mention_clusters),
    Sampled("mention_documents", mentions.mention_documents),
    Sampled("sentence_similarity", similarity.sentence_similarity, sizes=similarity.TEST),
    Sampled("relatedness", similarity.relatedness, sizes=similarity.TEST),
    Sampled("summary", summaries.summary, sizes=summaries.SIZES),
    Sampled("headline", summaries.headline, sizes=summaries.SIZES),
    Sampled("overlap", overlap.overlap, {"train": overlap.biased_overlap}),
    Sampled(
        "food_to_film",
        domain_transfer.food_or_film,
        {"train": domain_transfer.food},
        sizes=domain_transfer.SIZES,
    ),
    *(
        Sampled(name, task.validation, {"train": task.train}, sizes=domains.SIZES)
        for name, task in DOMAIN_TASKS.items()
    ),
    *(
        translation.Translated(f"translation_{name}", name, sizes=translation.SIZES)
        for name in translation.LANGUAGES
    ),
    retrieval.Ranked("retrieval", sizes=retrieval.SIZES),
)
"""Data sets that need columns, sizes or train sets other than those of `Labelled`."""

GENERATORS: dict[str, DataSet] = {made.name: made for made in (*GLUE, *SUPERGLUE, *OTHERS)}
"""Generator to its data set, a function of a split and the seed of a world that returns columns."""

WORDS_OF_CORPUS = frozenset(
    name
    for name in GENERATORS.keys() - DOMAIN_TASKS.keys()
    if not name.startswith("translation_") and "reading" not in name
)
"""Generators whose evaluation sets have words of the general corpus that are in no train set. Those
of domains have words of their domain."""


def examples(
    generator: str, split: str, world: int = 0, counterexamples: float | None = None
) -> Rows:
    """The columns [num_examples] of a data set, determined by the arguments.

    Args:
        generator: name in `GENERATORS`.
        split: `train`, `validation` or another split of the data set.
        world: seed of the world.
        counterexamples: share of the train set of `overlap` in which overlap misleads; null:
            `overlap.COUNTEREXAMPLES`.

    Raises:
        ValueError: an unknown generator or split.
    """
    return _data_set(generator, counterexamples)(split, world)


def sample(
    generator: str,
    split: str,
    number: int,
    world: int = 0,
    counterexamples: float | None = None,
) -> Rows:
    """Columns [at most `number`] of examples of the same kind as those of `examples`; quicker for
    most data sets.

    Raises:
        ValueError: an unknown generator or split.
    """
    made = _data_set(generator, counterexamples)
    check("split", split, tuple(made.sizes))
    # Answers to one question, and minimal pairs, are made together.
    fewer = replace(made, sizes={split: min(max(number, MOST_TOGETHER), made.sizes[split])})
    return {name: column[:number] for name, column in fewer(split, world).items()}


def oracle(generator: str, split: str, world: int = 0) -> list[Any]:
    """The answers without label noise: predictions with perfect knowledge of the world.

    Raises:
        ValueError: an unknown generator or split.
    """
    return _data_set(generator).answers(split, world)


def _data_set(generator: str, counterexamples: float | None = None) -> DataSet:
    check("generator", generator, tuple(GENERATORS))
    made = GENERATORS[generator]
    if counterexamples is None:
        return made
    assert isinstance(made, Sampled) and generator == "overlap"  # as tasks are checked
    train = partial(overlap.biased_overlap, counterexamples=counterexamples)
    return replace(made, item_by_split={"train": train})
