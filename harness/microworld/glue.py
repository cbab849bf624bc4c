"""Data sets in the shape of GLUE's."""

from harness.microworld import inference, pronouns, tasks
from harness.microworld.labelled import Labelled, Scored

ONE = ("sentence1",)

GLUE: tuple[Labelled, ...] = (
    Labelled("acceptability", tasks.acceptability, columns=ONE),
    Labelled("sentiment", tasks.sentiment, columns=ONE),
    Labelled("paraphrase", tasks.paraphrase),
    Scored("similarity", tasks.similarity, num_answers=5),
    Labelled("entailment", tasks.entailment),
    Labelled("question", tasks.question),
    Labelled("duplicate", inference.duplicate),
    Labelled(
        "inference",
        inference.inference,
        num_answers=3,
        sizes={"train": 1_000, "validation_matched": 1_000, "validation_mismatched": 1_000},
        other_asks={"validation_mismatched": inference.inference_in_dialogue},
    ),
    Labelled("winograd", pronouns.winograd),
)
