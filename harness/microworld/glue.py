"""Data sets in the shape of GLUE's."""

from harness.microworld import tasks
from harness.microworld.labelled import Labelled, Scored

ONE = ("sentence1",)

GLUE: tuple[Labelled, ...] = (
    Labelled("acceptability", tasks.acceptability, columns=ONE),
    Labelled("sentiment", tasks.sentiment, columns=ONE),
    Labelled("paraphrase", tasks.paraphrase),
    Scored("similarity", tasks.similarity, num_answers=5),
    Labelled("entailment", tasks.entailment),
    Labelled("question", tasks.question),
)
