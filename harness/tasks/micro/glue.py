"""micro-glue: tasks shaped like GLUE's, from the embedded world; six in v1, all nine in v2.

A train set shows 40 % of the world's open words, its dev set asks about the others, and only the
corpus tells of both. Ceilings are the scores of `harness.data.microworld.examples.oracle`.
Prompts say in words of the corpus what their patterns can: "so" leads from a sentence to what
follows from it or says the same, "then" to something new.
"""

from harness.tasks.task import Column, MicroworldData, Prompt, Split, Suite, Task

LICENCE = "MIT"
CITATION = "Made by harness.data.microworld; in the shape of {}."
SO_OR_THEN = Prompt(pattern="{sentence1} {answer} {sentence2}", answers=("so", "then"))
THEN_OR_SO = Prompt(pattern="{sentence1} {answer} {sentence2}", answers=("then", "so"))

MICRO_COLA = Task(
    name="micro-cola",
    kind="classification",
    data=MicroworldData(generator="acceptability"),
    text_fields=("sentence1",),
    labels=("unacceptable", "acceptable"),
    prompt=Prompt(pattern="{sentence1} this was {answer}.", answers=("bad", "good")),
    metrics=("matthews", "accuracy"),
    chance=0.0,
    ceiling=0.94,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("CoLA: Warstadt et al. 2019, TACL"),
)
MICRO_SST2 = Task(
    name="micro-sst2",
    kind="classification",
    data=MicroworldData(generator="sentiment"),
    text_fields=("sentence1",),
    labels=("negative", "positive"),
    prompt=Prompt(pattern="{sentence1} the film was {answer}.", answers=("bad", "good")),
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.952,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("SST-2: Socher et al. 2013, EMNLP"),
)
MICRO_MRPC = Task(
    name="micro-mrpc",
    kind="classification",
    data=MicroworldData(generator="paraphrase"),
    text_fields=("sentence1", "sentence2"),
    symmetric=True,
    labels=("different", "equivalent"),
    prompt=THEN_OR_SO,
    metrics=("accuracy", "f1"),
    chance=0.5,
    ceiling=0.964,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("MRPC: Dolan and Brockett 2005, IWP"),
)
MICRO_STSB = Task(
    name="micro-stsb",
    kind="regression",
    data=MicroworldData(generator="similarity"),
    text_fields=("sentence1", "sentence2"),
    symmetric=True,
    metrics=("spearman", "pearson"),
    chance=0.0,
    ceiling=0.977,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("STS-B: Cer et al. 2017, SemEval"),
)
MICRO_RTE = Task(
    name="micro-rte",
    kind="classification",
    data=MicroworldData(generator="entailment"),
    text_fields=("sentence1", "sentence2"),
    labels=("entailment", "not_entailment"),
    prompt=SO_OR_THEN,
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.949,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("RTE: Dagan et al. 2006, MLCW; Wang et al. 2019, ICLR"),
)
MICRO_QNLI = Task(
    name="micro-qnli",
    kind="classification",
    data=MicroworldData(generator="question"),
    text_fields=("sentence1", "sentence2"),
    labels=("entailment", "not_entailment"),
    prompt=SO_OR_THEN,
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.954,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("QNLI: Rajpurkar et al. 2016, EMNLP; Wang et al. 2019, ICLR"),
)

MICRO_QQP = Task(
    name="micro-qqp",
    kind="classification",
    data=MicroworldData(generator="duplicate"),
    text_fields=("sentence1", "sentence2"),
    symmetric=True,
    labels=("not_duplicate", "duplicate"),
    prompt=THEN_OR_SO,
    metrics=("f1", "accuracy"),
    chance=0.665,
    ceiling=0.95,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("QQP: Iyer et al. 2017, Quora"),
)
MICRO_MNLI = Task(
    name="micro-mnli",
    kind="classification",
    data=MicroworldData(generator="inference"),
    text_fields=("sentence1", "sentence2"),
    labels=("entailment", "neutral", "contradiction"),
    prompt=Prompt(pattern="{sentence1} {answer} {sentence2}", answers=("so", "then", "not")),
    evaluation=(Split(name="validation_matched"), Split(name="validation_mismatched")),
    metrics=("accuracy",),
    chance=1 / 3,
    ceiling=0.954,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("MNLI: Williams et al. 2018, NAACL"),
)
MICRO_WNLI = Task(
    name="micro-wnli",
    kind="classification",
    data=MicroworldData(generator="winograd"),
    text_fields=("sentence1", "sentence2"),
    labels=("not_entailment", "entailment"),
    prompt=THEN_OR_SO,
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.949,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("WNLI: Levesque et al. 2012, KR; Wang et al. 2019, ICLR"),
)

SIX = (MICRO_COLA, MICRO_SST2, MICRO_MRPC, MICRO_STSB, MICRO_RTE, MICRO_QNLI)
MICRO_GLUE_TASKS: dict[str, Task] = {
    task.name: task for task in (*SIX, MICRO_QQP, MICRO_MNLI, MICRO_WNLI)
}

MICRO_GLUE_V1 = Suite(
    name="micro-glue-v1",
    tasks=tuple(task.name for task in SIX),
    columns=(
        Column(name="CoLA", task="micro-cola", metrics=("matthews",)),
        Column(name="SST-2", task="micro-sst2", metrics=("accuracy",)),
        Column(name="MRPC", task="micro-mrpc", metrics=("accuracy",)),
        Column(name="STS-B", task="micro-stsb", metrics=("spearman",)),
        Column(name="RTE", task="micro-rte", metrics=("accuracy",)),
        Column(name="QNLI", task="micro-qnli", metrics=("accuracy",)),
    ),
    average="mean_of_columns",
    citation="Made by harness.data.microworld, in the shape of GLUE: Wang et al. 2019, ICLR.",
)

# In the order of Devlin et al. 2019, table 1; then WNLI, which that table leaves out.
MICRO_GLUE_V2 = Suite(
    name="micro-glue-v2",
    tasks=(
        "micro-mnli",
        "micro-qqp",
        "micro-qnli",
        "micro-sst2",
        "micro-cola",
        "micro-stsb",
        "micro-mrpc",
        "micro-rte",
        "micro-wnli",
    ),
    columns=(
        Column(name="MNLI-m", task="micro-mnli", split="validation_matched", metrics=("accuracy",)),
        Column(
            name="MNLI-mm", task="micro-mnli", split="validation_mismatched", metrics=("accuracy",)
        ),
        Column(name="QQP", task="micro-qqp", metrics=("f1",)),
        Column(name="QNLI", task="micro-qnli", metrics=("accuracy",)),
        Column(name="SST-2", task="micro-sst2", metrics=("accuracy",)),
        Column(name="CoLA", task="micro-cola", metrics=("matthews",)),
        Column(name="STS-B", task="micro-stsb", metrics=("spearman",)),
        Column(name="MRPC", task="micro-mrpc", metrics=("accuracy",)),
        Column(name="RTE", task="micro-rte", metrics=("accuracy",)),
        Column(name="WNLI", task="micro-wnli", metrics=("accuracy",)),
    ),
    average="mean_of_columns",
    citation="Made by harness.data.microworld, in the shape of GLUE: Wang et al. 2019, ICLR.",
)
