"""micro-superglue: eight micro-world tasks modelled on SuperGLUE, and in v2 its diagnostic sets.

As in micro-glue, the vocabulary of the dev sets occurs only in the pretraining corpus. RTE is
micro-rte in v1, and micro-superglue-rte in v2, whose model answers AX-b and AX-g, too. BoolQ,
MultiRC and WiC have no prompt, because the corpus has no word for yes, correct or same.
"""

from harness.tasks.micro.glue import SO_OR_THEN
from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Prompt, Split, Suite, Task

MICRO_SUPERGLUE_TASKS: tuple[Task, ...] = (
    microworld_task(
        "micro-boolq",
        "yes_no_question",
        "BoolQ: Clark et al. 2019, NAACL",
        text_fields=("passage", "question"),
        labels=("no", "yes"),
        chance=0.5,
        ceiling=0.963,
    ),
    microworld_task(
        "micro-cb",
        "commitment",
        "CB: de Marneffe et al. 2019, Sinn und Bedeutung",
        text_fields=("premise", "hypothesis"),
        labels=("entailment", "contradiction", "neutral"),
        prompt=Prompt(pattern="{premise} {answer} {hypothesis}", answers=("so", "not", "then")),
        metrics=("accuracy", "macro_f1"),
        chance=1 / 3,
        ceiling=0.944,
        train_size=250,
    ),
    microworld_task(
        "micro-copa",
        "plausible_alternative",
        "COPA: Roemmele et al. 2011, AAAI Spring Symposium",
        kind="multiple_choice",
        text_fields=("context",),
        choices_field="choices",
        prompt=Prompt(pattern="{context} {answer}"),
        chance=0.5,
        ceiling=0.957,
    ),
    microworld_task(
        "micro-multirc",
        "answer_correctness",
        "MultiRC: Khashabi et al. 2018, NAACL",
        text_fields=("passage", "{question} {answer}"),
        labels=("wrong", "right"),
        group_field="group",
        metrics=("f1_answers", "exact_match_groups"),
        chance=0.667,
        ceiling=0.961,
        train_size=999,
    ),
    # The choices are the query with each of three to five entities. As one entity is correct,
    # ReCoRD's F1 and exact match both equal accuracy.
    microworld_task(
        "micro-record",
        "entity_cloze",
        "ReCoRD: Zhang et al. 2018, arXiv:1810.12885",
        kind="multiple_choice",
        text_fields=("context",),
        choices_field="choices",
        prompt=Prompt(pattern="{context} {answer}"),
        chance=0.25,
        ceiling=0.961,
    ),
    # Only pronouns have several senses here: the word is the pronoun that both sentences contain
    # (column `word`), and its sense is the kind of its referent.
    microworld_task(
        "micro-wic",
        "same_reference",
        "WiC: Pilehvar and Camacho-Collados 2019, NAACL",
        symmetric=True,
        marked_words={"sentence1": "word", "sentence2": "word"},
        labels=("different", "same"),
        chance=0.5,
        ceiling=0.956,
    ),
    microworld_task(
        "micro-wsc",
        "coreference",
        "WSC: Levesque et al. 2012, KR",
        text_fields=("text", "statement"),
        labels=("false", "true"),
        prompt=Prompt(pattern="{text} {answer} {statement}", answers=("then", "so")),
        chance=0.5,
        ceiling=0.969,
    ),
    microworld_task(
        "micro-superglue-rte",
        "entailment_with_diagnostics",
        "RTE: Dagan et al. 2006, MLCW; AX-b and AX-g: Wang et al. 2019, SuperGLUE, NeurIPS",
        labels=("entailment", "not_entailment"),
        prompt=SO_OR_THEN,
        evaluation=(
            Split(name="validation"),
            Split(name="axb"),
            Split(name="axg", group_field="pair"),
        ),
        metrics=("accuracy", "matthews", "parity"),
        chance=0.5,
        ceiling=0.954,
    ),
)
"""The tasks that are not in micro-glue."""

MICRO_SUPERGLUE_V1 = Suite(
    name="micro-superglue-v1",
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
    citation=microworld_citation("SuperGLUE: Wang et al. 2019, NeurIPS"),
)

RTE = "micro-superglue-rte"
# The two diagnostic sets come last and are not averaged, as in superglue-v2.
MICRO_SUPERGLUE_V2 = Suite(
    name="micro-superglue-v2",
    columns=(
        *(
            one.model_copy(update={"task": RTE}) if one.name == "RTE" else one
            for one in MICRO_SUPERGLUE_V1.columns
        ),
        Column(name="AX-b", task=RTE, split="axb", metrics=("matthews",)),
        Column(name="AX-g", task=RTE, split="axg", metrics=("accuracy",)),
        Column(name="AX-g parity", task=RTE, split="axg", metrics=("parity",)),
    ),
    average="micro_superglue8",
    citation=MICRO_SUPERGLUE_V1.citation,
)
