"""Data sets modelled on GLUE."""

from harness.data.microworld import inference, pronouns, sentence_tasks
from harness.data.microworld.labelled import Labelled, Scored

ONE = ("sentence1",)

GLUE: tuple[Labelled, ...] = (
    Labelled("acceptability", sentence_tasks.acceptability, columns=ONE),
    Labelled("sentiment", sentence_tasks.sentiment, columns=ONE),
    Labelled("paraphrase", sentence_tasks.paraphrase),
    Scored("similarity", sentence_tasks.similarity, num_answers=5),
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
