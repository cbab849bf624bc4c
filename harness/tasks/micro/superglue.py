"""micro-superglue-v1: eight tasks shaped like SuperGLUE's, from the embedded world.

As in micro-glue, dev sets ask about words that only the corpus explains. RTE is micro-rte itself.
BoolQ, MultiRC and WiC have no prompt: the corpus has no word for yes, for right or for the same.
"""

from harness.tasks.micro.glue import CITATION, LICENCE
from harness.tasks.task import Column, MicroworldData, Prompt, Suite, Task

MICRO_BOOLQ = Task(
    name="micro-boolq",
    kind="classification",
    data=MicroworldData(generator="yes_or_no"),
    text_fields=("passage", "question"),
    labels=("no", "yes"),
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.95,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("BoolQ: Clark et al. 2019, NAACL"),
)
MICRO_CB = Task(
    name="micro-cb",
    kind="classification",
    data=MicroworldData(generator="commitment"),
    text_fields=("premise", "hypothesis"),
    labels=("entailment", "contradiction", "neutral"),
    prompt=Prompt(pattern="{premise} {answer} {hypothesis}", answers=("so", "not", "then")),
    metrics=("accuracy", "macro_f1"),
    chance=1 / 3,
    ceiling=0.944,
    train_size=250,
    licence=LICENCE,
    citation=CITATION.format("CB: de Marneffe et al. 2019, Sinn und Bedeutung"),
)
MICRO_COPA = Task(
    name="micro-copa",
    kind="multiple_choice",
    data=MicroworldData(generator="plausible"),
    text_fields=("context",),
    choices_field="choices",
    prompt=Prompt(pattern="{context} {answer}"),
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.961,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("COPA: Roemmele et al. 2011, AAAI Spring Symposium"),
)
MICRO_MULTIRC = Task(
    name="micro-multirc",
    kind="classification",
    data=MicroworldData(generator="answers"),
    text_fields=("passage", "{question} {answer}"),
    labels=("wrong", "right"),
    group_field="group",
    metrics=("f1_answers", "exact_match_groups"),
    chance=0.667,
    ceiling=0.945,
    train_size=999,
    licence=LICENCE,
    citation=CITATION.format("MultiRC: Khashabi et al. 2018, NAACL"),
)
MICRO_RECORD = Task(
    name="micro-record",
    kind="multiple_choice",
    data=MicroworldData(generator="filling"),
    text_fields=("context",),
    choices_field="choices",
    prompt=Prompt(pattern="{context} {answer}"),
    metrics=("accuracy",),
    chance=0.25,
    ceiling=0.948,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("ReCoRD: Zhang et al. 2018, arXiv:1810.12885"),
)
"""Each choice is the query with one of three to five entities filled in. Every question has one
right entity, so that ReCoRD's F1 and exact match both equal accuracy."""
MICRO_WIC = Task(
    name="micro-wic",
    kind="classification",
    data=MicroworldData(generator="same_reference"),
    text_fields=("sentence1", "sentence2"),
    symmetric=True,
    labels=("different", "same"),
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.956,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("WiC: Pilehvar and Camacho-Collados 2019, NAACL"),
)
"""Words of the corpus have one sense each, except pronouns: the word is the one pronoun that both
sentences have (column `word`), and the same sense is to stand for a thing of the same kind."""
MICRO_WSC = Task(
    name="micro-wsc",
    kind="classification",
    data=MicroworldData(generator="coreference"),
    text_fields=("text", "statement"),
    labels=("false", "true"),
    prompt=Prompt(pattern="{text} {answer} {statement}", answers=("then", "so")),
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.969,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("WSC: Levesque et al. 2012, KR"),
)

MICRO_SUPERGLUE_TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        MICRO_BOOLQ,
        MICRO_CB,
        MICRO_COPA,
        MICRO_MULTIRC,
        MICRO_RECORD,
        MICRO_WIC,
        MICRO_WSC,
    )
}
"""The seven tasks that micro-glue does not have."""

MICRO_SUPERGLUE_V1 = Suite(
    name="micro-superglue-v1",
    tasks=(
        "micro-boolq",
        "micro-cb",
        "micro-copa",
        "micro-multirc",
        "micro-record",
        "micro-rte",
        "micro-wic",
        "micro-wsc",
    ),
    columns=(
        Column(name="BoolQ", task="micro-boolq", metrics=("accuracy",)),
        Column(name="CB", task="micro-cb", metrics=("accuracy", "macro_f1")),
        Column(name="COPA", task="micro-copa", metrics=("accuracy",)),
        Column(name="MultiRC", task="micro-multirc", metrics=("f1_answers", "exact_match_groups")),
        Column(name="ReCoRD", task="micro-record", metrics=("accuracy",)),
        Column(name="RTE", task="micro-rte", metrics=("accuracy",)),
        Column(name="WiC", task="micro-wic", metrics=("accuracy",)),
        Column(name="WSC", task="micro-wsc", metrics=("accuracy",)),
    ),
    average="mean_of_columns",
    citation="Made by harness.data.microworld, in the shape of SuperGLUE: Wang et al. 2019, NeurIPS.",
)
