"""micro-glue: micro-world tasks modelled on GLUE; six in v1, all nine in v2.

Train sets use 40 % of the open words and dev sets the others, so that the dev vocabulary occurs
only in the pretraining corpus. Ceilings are the scores of
`harness.data.microworld.examples.oracle`. Prompts use words as the corpus does: "so" connects a
sentence with a consequence or a paraphrase, "then" with something new.
"""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Prompt, Split, Suite, Task

SO_OR_THEN = Prompt(pattern="{sentence1} {answer} {sentence2}", answers=("so", "then"))
THEN_OR_SO = Prompt(pattern="{sentence1} {answer} {sentence2}", answers=("then", "so"))

MICRO_GLUE_TASKS: tuple[Task, ...] = (
    microworld_task(
        "micro-cola",
        "acceptability",
        "CoLA: Warstadt et al. 2019, TACL",
        text_fields=("sentence1",),
        labels=("unacceptable", "acceptable"),
        prompt=Prompt(pattern="{sentence1} this was {answer}.", answers=("bad", "good")),
        metrics=("matthews", "accuracy"),
        chance=0.0,
        ceiling=0.94,
    ),
    microworld_task(
        "micro-sst2",
        "sentiment",
        "SST-2: Socher et al. 2013, EMNLP",
        text_fields=("sentence1",),
        labels=("negative", "positive"),
        prompt=Prompt(pattern="{sentence1} the film was {answer}.", answers=("bad", "good")),
        chance=0.5,
        ceiling=0.952,
    ),
    microworld_task(
        "micro-mrpc",
        "paraphrase",
        "MRPC: Dolan and Brockett 2005, IWP",
        symmetric=True,
        labels=("different", "equivalent"),
        prompt=THEN_OR_SO,
        metrics=("accuracy", "f1"),
        chance=0.5,
        ceiling=0.964,
    ),
    microworld_task(
        "micro-stsb",
        "similarity",
        "STS-B: Cer et al. 2017, SemEval",
        kind="regression",
        symmetric=True,
        metrics=("spearman", "pearson"),
        chance=0.0,
        ceiling=0.977,
    ),
    microworld_task(
        "micro-rte",
        "entailment",
        "RTE: Dagan et al. 2006, MLCW; Wang et al. 2019, ICLR",
        labels=("entailment", "not_entailment"),
        prompt=SO_OR_THEN,
        chance=0.5,
        ceiling=0.949,
    ),
    microworld_task(
        "micro-qnli",
        "question",
        "QNLI: Rajpurkar et al. 2016, EMNLP; Wang et al. 2019, ICLR",
        labels=("entailment", "not_entailment"),
        prompt=SO_OR_THEN,
        chance=0.5,
        ceiling=0.954,
    ),
    microworld_task(
        "micro-qqp",
        "duplicate",
        "QQP: Iyer et al. 2017, Quora",
        symmetric=True,
        labels=("not_duplicate", "duplicate"),
        prompt=THEN_OR_SO,
        metrics=("f1", "accuracy"),
        chance=0.665,
        ceiling=0.95,
    ),
    microworld_task(
        "micro-mnli",
        "inference",
        "MNLI: Williams et al. 2018, NAACL",
        labels=("entailment", "neutral", "contradiction"),
        prompt=Prompt(pattern="{sentence1} {answer} {sentence2}", answers=("so", "then", "not")),
        evaluation=(Split(name="validation_matched"), Split(name="validation_mismatched")),
        chance=1 / 3,
        ceiling=0.954,
    ),
    microworld_task(
        "micro-wnli",
        "winograd",
        "WNLI: Levesque et al. 2012, KR; Wang et al. 2019, ICLR",
        labels=("not_entailment", "entailment"),
        prompt=THEN_OR_SO,
        chance=0.5,
        ceiling=0.949,
    ),
)

MICRO_GLUE_V1 = Suite(
    name="micro-glue-v1",
    columns=(
        Column(name="CoLA", task="micro-cola", metrics=("matthews",)),
        Column(name="SST-2", task="micro-sst2", metrics=("accuracy",)),
        Column(name="MRPC", task="micro-mrpc", metrics=("accuracy",)),
        Column(name="STS-B", task="micro-stsb", metrics=("spearman",)),
        Column(name="RTE", task="micro-rte", metrics=("accuracy",)),
        Column(name="QNLI", task="micro-qnli", metrics=("accuracy",)),
    ),
    citation=microworld_citation("GLUE: Wang et al. 2019, ICLR"),
)

# In the order of Devlin et al. 2019, table 1; then WNLI, which is not in that table.
MICRO_GLUE_V2 = Suite(
    name="micro-glue-v2",
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
    citation=microworld_citation("GLUE: Wang et al. 2019, ICLR"),
)
