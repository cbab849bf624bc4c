"""GLUE: nine tasks, the diagnostic set AX, and the suite glue-v1 (Wang et al. 2019, ICLR)."""

from typing import Any

from harness.tasks.task import SERVER_TEST, Column, HubData, Prompt, Split, Suite, Task

GLUE_CITATION = "Wang et al. 2019, GLUE, ICLR"
REVISION = "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"


def _task(config: str, **fields: Any) -> Task:
    """The task in a config: unless `fields` say otherwise, a classification of the same name."""
    data = HubData(path="nyu-mll/glue", config=config, revision=REVISION)
    common = {"name": config, "kind": "classification", "data": data, "test": SERVER_TEST}
    return Task(**{**common, **fields})


# Chance is the main score of the best constant or random prediction on the public dev set: the
# share of its largest class, F1 of "always positive", 0 for correlations.
# Prompts are those of LM-BFF (Gao et al. 2021, table 1). Its prompt for STS-B, which interpolates
# between two words, is omitted; it has none for WNLI.
GLUE_TASKS: tuple[Task, ...] = (
    _task(
        "cola",
        text_fields=("sentence",),
        labels=("unacceptable", "acceptable"),
        prompt=Prompt(pattern="{sentence} This is {answer}.", answers=("incorrect", "correct")),
        metrics=("matthews", "accuracy"),
        chance=0.0,
        train_size=8551,
        licence="see https://nyu-mll.github.io/CoLA",
        citation="Warstadt et al. 2019, TACL",
    ),
    _task(
        "sst2",
        text_fields=("sentence",),
        labels=("negative", "positive"),
        prompt=Prompt(pattern="{sentence} It was {answer}.", answers=("terrible", "great")),
        metrics=("accuracy",),
        chance=444 / 872,
        train_size=67_349,
        citation="Socher et al. 2013, EMNLP",
    ),
    _task(
        "mrpc",
        text_fields=("sentence1", "sentence2"),
        symmetric=True,
        labels=("not_equivalent", "equivalent"),
        prompt=Prompt(pattern="{sentence1} {answer}, {sentence2}", answers=("No", "Yes")),
        metrics=("f1", "accuracy"),
        chance=2 * 279 / (279 + 408),
        train_size=3668,
        licence="Microsoft Research shared source",
        citation="Dolan and Brockett 2005, IWP",
    ),
    _task(
        "qqp",
        text_fields=("question1", "question2"),
        symmetric=True,
        labels=("not_duplicate", "duplicate"),
        prompt=Prompt(pattern="{question1} {answer}, {question2}", answers=("No", "Yes")),
        metrics=("f1", "accuracy"),
        chance=2 * 14_885 / (14_885 + 40_430),
        train_size=363_849,  # the paper's; the Hub's current release holds 363,846
        licence="Quora terms of service, non-commercial",
        citation="Iyer et al. 2017, Quora Question Pairs",
    ),
    _task(
        "stsb",
        kind="regression",
        text_fields=("sentence1", "sentence2"),
        symmetric=True,
        metrics=("spearman", "pearson"),
        chance=0.0,
        train_size=5749,
        licence="mixed, by source",
        citation="Cer et al. 2017, SemEval",
    ),
    _task(
        "mnli",
        text_fields=("premise", "hypothesis"),
        labels=("entailment", "neutral", "contradiction"),
        prompt=Prompt(pattern="{premise}? {answer}, {hypothesis}", answers=("Yes", "Maybe", "No")),
        evaluation=(
            Split(name="validation_matched"),
            Split(name="validation_mismatched"),
            Split(name="test", config="ax", optional=True),  # labels not public: never scored
        ),
        test=(
            Split(name="test_matched", optional=True),
            Split(name="test_mismatched", optional=True),
        ),
        metrics=("accuracy", "matthews"),
        chance=3479 / 9815,
        train_size=392_702,
        licence="OANC, CC BY and CC BY-SA, by genre",
        citation="Williams et al. 2018, NAACL",
    ),
    _task(
        "qnli",
        text_fields=("question", "sentence"),
        labels=("entailment", "not_entailment"),
        prompt=Prompt(pattern="{question}? {answer}, {sentence}", answers=("Yes", "No")),
        metrics=("accuracy",),
        chance=2761 / 5463,
        train_size=104_743,
        licence="CC BY-SA 4.0",
        citation="Rajpurkar et al. 2016, EMNLP; " + GLUE_CITATION,
    ),
    _task(
        "rte",
        text_fields=("sentence1", "sentence2"),
        labels=("entailment", "not_entailment"),
        prompt=Prompt(pattern="{sentence1}? {answer}, {sentence2}", answers=("Yes", "No")),
        metrics=("accuracy",),
        chance=146 / 277,
        train_size=2490,
        citation=(
            "Dagan et al. 2006; Bar Haim et al. 2006; Giampiccolo et al. 2007; "
            "Bentivogli et al. 2009"
        ),
    ),
    _task(
        "wnli",
        text_fields=("sentence1", "sentence2"),
        labels=("not_entailment", "entailment"),
        metrics=("accuracy",),
        chance=40 / 71,
        train_size=635,
        licence="CC BY 4.0",
        citation="Levesque et al. 2011; " + GLUE_CITATION,
    ),
)

# Order and metrics of Devlin et al. 2019, table 1. WNLI, which is not in that table, comes last and
# is not part of the average.
GLUE_V1 = Suite(
    name="glue-v1",
    columns=(
        Column(name="mnli_m", task="mnli", split="validation_matched", metrics=("accuracy",)),
        Column(name="mnli_mm", task="mnli", split="validation_mismatched", metrics=("accuracy",)),
        Column(name="qqp", task="qqp", metrics=("f1",)),
        Column(name="qnli", task="qnli", metrics=("accuracy",)),
        Column(name="sst2", task="sst2", metrics=("accuracy",)),
        Column(name="cola", task="cola", metrics=("matthews",)),
        Column(name="stsb", task="stsb", metrics=("spearman",)),
        Column(name="mrpc", task="mrpc", metrics=("f1",)),
        Column(name="rte", task="rte", metrics=("accuracy",)),
        Column(name="wnli", task="wnli", metrics=("accuracy",)),
    ),
    average="bert_table1",
    citation=GLUE_CITATION,
)
