"""SuperGLUE: eight tasks, two diagnostic sets, and the suites of both (Wang et al. 2019).

AX-b and AX-g are two splits of RTE, because they are evaluated with the model of RTE. The gender
parity score of AX-g is the share of minimal pairs, sentences that differ only in the gender of a
pronoun, that are answered alike (Wang et al. 2019, section 3.4).
"""

from typing import Any

from harness.tasks.task import SERVER_TEST, Column, HubData, Prompt, Split, Suite, Task

REVISION = "3de24cf8022e94f4ee4b9d55a6f539891524d646"


def _task(config: str, **fields: Any) -> Task:
    """The task in a config: unless `fields` say otherwise, a classification of the same name."""
    data = HubData(path="aps/super_glue", config=config, revision=REVISION)
    common = {"name": config, "kind": "classification", "data": data, "test": SERVER_TEST}
    return Task(**{**common, **fields})


# Ceilings are human scores on the test set (Wang et al. 2019, table 3); systems have exceeded some.
# Chance refers to the dev set unless noted. Prompts are patterns of PET (Schick and Schuetze 2021,
# It's Not Just Size That Matters, section 3), except for WiC, MultiRC and WSC, whose patterns use
# parts of an example that are not separate texts here.
SUPERGLUE_TASKS: tuple[Task, ...] = (
    _task(
        "boolq",
        text_fields=("question", "passage"),
        labels=("False", "True"),
        prompt=Prompt(
            pattern="{passage} Question: {question}? Answer: {answer}.", answers=("No", "Yes")
        ),
        metrics=("accuracy",),
        chance=2033 / 3270,  # "True"
        ceiling=0.89,
        train_size=9427,
        licence="CC BY-SA 3.0",
        citation="Clark et al. 2019, BoolQ, NAACL",
    ),
    _task(
        "cb",
        text_fields=("premise", "hypothesis"),
        labels=("entailment", "contradiction", "neutral"),
        prompt=Prompt(
            pattern="{hypothesis}? | {answer}, {premise}", answers=("Yes", "No", "Maybe")
        ),
        metrics=("accuracy", "macro_f1"),
        chance=28 / 56,  # "contradiction"
        ceiling=0.989,
        train_size=250,
        citation="De Marneffe et al. 2019, CommitmentBank, Sinn und Bedeutung",
    ),
    _task(
        "copa",
        kind="multiple_choice",
        prepare="copa",
        text_fields=("question", "premise"),
        choices_field="choices",
        prompt=Prompt(pattern="{premise} {question} {answer}"),
        metrics=("accuracy",),
        chance=0.5,  # a random choice
        ceiling=1.0,
        train_size=400,
        licence="BSD 2-clause",
        citation="Roemmele et al. 2011, AAAI Spring Symposium",
    ),
    _task(
        "multirc",
        prepare="multirc",
        text_fields=("{question} {answer}", "paragraph"),
        labels=("False", "True"),
        group_field="group",
        metrics=("f1_answers", "exact_match_groups"),
        chance=0.611,  # always positive, on the test set (Wang et al. 2019, table 3)
        ceiling=0.818,
        train_size=27_243,
        citation="Khashabi et al. 2018, NAACL",
    ),
    # Answers are entities under any of their names; F1 and exact match take the best name. As an
    # extraction task, models do not see the candidates and may predict spans that are no entities,
    # unlike most systems of the leaderboard.
    _task(
        "record",
        kind="extraction",
        prepare="record",
        text_fields=("query", "passage"),
        label_field="answers",
        metrics=("token_f1", "exact_match"),
        ceiling=0.917,
        train_size=100_730,
        citation="Zhang et al. 2018, ReCoRD, arXiv:1810.12885",
    ),
    _task(
        "rte",
        name="superglue_rte",
        prepare="rte_and_diagnostics",
        text_fields=("premise", "hypothesis"),
        labels=("entailment", "not_entailment"),
        prompt=Prompt(pattern="{hypothesis}? | {answer}, {premise}", answers=("Yes", "No")),
        evaluation=(
            Split(name="validation"),
            Split(name="axb", of="test", config="axb", optional=True),
            Split(name="axg", of="test", config="axg", group_field="pair", optional=True),
        ),
        metrics=("accuracy", "matthews", "parity"),
        chance=146 / 277,  # "entailment"
        ceiling=0.936,
        train_size=2490,
        citation=(
            "Dagan et al. 2006; Bar Haim et al. 2006; Giampiccolo et al. 2007; "
            "Bentivogli et al. 2009; AX-g: Rudinger et al. 2018, NAACL"
        ),
    ),
    _task(
        "wic",
        text_fields=("{word}: {sentence1}", "sentence2"),
        marked_words={"sentence1": ("start1", "end1"), "sentence2": ("start2", "end2")},
        labels=("False", "True"),
        metrics=("accuracy",),
        chance=0.5,  # balanced by its authors
        ceiling=0.8,
        train_size=5428,
        licence="CC BY-NC 4.0",
        citation="Pilehvar and Camacho-Collados 2019, NAACL",
    ),
    _task(
        "wsc",
        prepare="wsc",
        text_fields=("marked", "span1_text"),
        labels=("False", "True"),
        metrics=("accuracy",),
        chance=66 / 104,  # "False"
        ceiling=1.0,
        train_size=554,
        licence="CC BY 4.0",
        citation="Levesque et al. 2012, KR",
    ),
)

# In the order of the leaderboard; the two diagnostic sets come last and are not averaged.
SUPERGLUE_V1 = Suite(
    name="superglue-v1",
    columns=(
        Column(name="boolq", task="boolq", metrics=("accuracy",)),
        Column(name="cb", task="cb", metrics=("macro_f1", "accuracy")),
        Column(name="copa", task="copa", metrics=("accuracy",)),
        Column(name="multirc", task="multirc", metrics=("f1_answers", "exact_match_groups")),
        Column(name="record", task="record", metrics=("token_f1", "exact_match")),
        Column(name="rte", task="superglue_rte", metrics=("accuracy",)),
        Column(name="wic", task="wic", metrics=("accuracy",)),
        Column(name="wsc", task="wsc", metrics=("accuracy",)),
        Column(name="axb", task="superglue_rte", split="axb", metrics=("matthews",)),
        Column(name="axg", task="superglue_rte", split="axg", metrics=("accuracy",)),
    ),
    average="superglue8",
    citation="Wang et al. 2019, SuperGLUE, NeurIPS",
)

# With the second metric of AX-g on the leaderboard.
SUPERGLUE_V2 = Suite(
    name="superglue-v2",
    columns=(
        *SUPERGLUE_V1.columns,
        Column(name="axg parity", task="superglue_rte", split="axg", metrics=("parity",)),
    ),
    average=SUPERGLUE_V1.average,
    citation=SUPERGLUE_V1.citation,
)
