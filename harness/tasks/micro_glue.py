"""micro-glue-v1: six tasks shaped like GLUE's, from the embedded world.

A train set shows 40 % of the world's open words, its dev set asks about the others, and only the
corpus tells of both. Ceilings are the scores of `harness.microworld.oracle`.
"""

from harness.tasks.task import Column, MicroworldData, Suite, Task

LICENCE = "MIT"
CITATION = "Made by harness.microworld; in the shape of {}."

MICRO_COLA = Task(
    name="micro-cola",
    kind="classification",
    data=MicroworldData(generator="acceptability"),
    text_fields=("sentence1",),
    labels=("unacceptable", "acceptable"),
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
    metrics=("accuracy",),
    chance=0.5,
    ceiling=0.954,
    train_size=1_000,
    licence=LICENCE,
    citation=CITATION.format("QNLI: Rajpurkar et al. 2016, EMNLP; Wang et al. 2019, ICLR"),
)

MICRO_GLUE_TASKS: dict[str, Task] = {
    task.name: task
    for task in (MICRO_COLA, MICRO_SST2, MICRO_MRPC, MICRO_STSB, MICRO_RTE, MICRO_QNLI)
}

MICRO_GLUE_V1 = Suite(
    name="micro-glue-v1",
    tasks=tuple(MICRO_GLUE_TASKS),
    columns=(
        Column(name="CoLA", task="micro-cola", metrics=("matthews",)),
        Column(name="SST-2", task="micro-sst2", metrics=("accuracy",)),
        Column(name="MRPC", task="micro-mrpc", metrics=("accuracy",)),
        Column(name="STS-B", task="micro-stsb", metrics=("spearman",)),
        Column(name="RTE", task="micro-rte", metrics=("accuracy",)),
        Column(name="QNLI", task="micro-qnli", metrics=("accuracy",)),
    ),
    average="mean_of_columns",
    citation="Made by harness.microworld, in the shape of GLUE: Wang et al. 2019, ICLR.",
)
