"""micro-superglue-v1: eight tasks shaped like SuperGLUE's, from the embedded world.

As in micro-glue, dev sets ask about words that only the corpus explains. RTE is micro-rte itself.
BoolQ, MultiRC and WiC have no prompt: the corpus has no word for yes, for right or for the same.
"""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Prompt, Suite, Task

MICRO_BOOLQ = microworld_task(
    "micro-boolq",
    "yes_no_question",
    "BoolQ: Clark et al. 2019, NAACL",
    kind="classification",
    text_fields=("passage", "question"),
    labels=("no", "yes"),
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.963,
)
MICRO_CB = microworld_task(
    "micro-cb",
    "commitment",
    "CB: de Marneffe et al. 2019, Sinn und Bedeutung",
    kind="classification",
    text_fields=("premise", "hypothesis"),
    labels=("entailment", "contradiction", "neutral"),
    prompt=Prompt(pattern="{premise} {answer} {hypothesis}", answers=("so", "not", "then")),
    metrics=("accuracy", "macro_f1"),
    chance=1 / 3,
    ceiling=0.944,
    train_size=250,
)
MICRO_COPA = microworld_task(
    "micro-copa",
    "plausible_alternative",
    "COPA: Roemmele et al. 2011, AAAI Spring Symposium",
    kind="multiple_choice",
    text_fields=("context",),
    choices_field="choices",
    prompt=Prompt(pattern="{context} {answer}"),
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.957,
)
MICRO_MULTIRC = microworld_task(
    "micro-multirc",
    "answer_correctness",
    "MultiRC: Khashabi et al. 2018, NAACL",
    kind="classification",
    text_fields=("passage", "{question} {answer}"),
    labels=("wrong", "right"),
    group_field="group",
    metrics=("f1_answers", "exact_match_groups"),
    chance=0.667,
    ceiling=0.961,
    train_size=999,
)
MICRO_RECORD = microworld_task(
    "micro-record",
    "entity_cloze",
    "ReCoRD: Zhang et al. 2018, arXiv:1810.12885",
    kind="multiple_choice",
    text_fields=("context",),
    choices_field="choices",
    prompt=Prompt(pattern="{context} {answer}"),
    metrics=("accuracy",),
    chance=0.25,
    ceiling=0.961,
)
"""Each choice is the query with one of three to five entities filled in. Every question has one
right entity, so that ReCoRD's F1 and exact match both equal accuracy."""
MICRO_WIC = microworld_task(
    "micro-wic",
    "same_reference",
    "WiC: Pilehvar and Camacho-Collados 2019, NAACL",
    kind="classification",
    text_fields=("sentence1", "sentence2"),
    symmetric=True,
    labels=("different", "same"),
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.956,
)
"""Words of the corpus have one sense each, except pronouns: the word is the one pronoun that both
sentences have (column `word`), and the same sense is to stand for a thing of the same kind."""
MICRO_WSC = microworld_task(
    "micro-wsc",
    "coreference",
    "WSC: Levesque et al. 2012, KR",
    kind="classification",
    text_fields=("text", "statement"),
    labels=("false", "true"),
    prompt=Prompt(pattern="{text} {answer} {statement}", answers=("then", "so")),
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.969,
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
    citation=microworld_citation("SuperGLUE: Wang et al. 2019, NeurIPS"),
)
