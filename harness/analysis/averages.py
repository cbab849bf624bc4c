"""Averaging rules: papers compute averages such as "GLUE" in different ways.

A rule is a list of terms with equal weights. A term is one column or the mean of several (the two
MNLI sets), and a column is the mean of one or more metrics. Rules differ in all of these; including
WNLI alone changes an average by points. Therefore every table names its rule.
"""

from dataclasses import dataclass

from harness.core.config import unknown_name
from harness.tasks.task import Column

Term = tuple[Column, ...]


@dataclass(frozen=True)
class Average:
    """A rule that averages the columns of a suite."""

    name: str
    formula: str
    """The rule in words."""
    source: str
    """Where it is used, and evidence that this is the rule."""
    terms: tuple[Term, ...] = ()
    """Terms with equal weights; empty means that every column of the suite is a term."""
    label: str = "average"
    """Head of its column in tables."""


def _column(task: str, *metrics: str, name: str | None = None, split: str = "validation") -> Column:
    return Column(name=name or task, task=task, split=split, metrics=metrics)


def _accuracies(*tasks: str) -> tuple[Term, ...]:
    return tuple((_column(task, "accuracy"),) for task in tasks)


MNLI_M = _column("mnli", "accuracy", name="mnli_m", split="validation_matched")
MNLI_MM = _column("mnli", "accuracy", name="mnli_mm", split="validation_mismatched")
COLA = _column("cola", "matthews")
STSB_SPEARMAN = _column("stsb", "spearman")
SINGLE_METRIC: tuple[Term, ...] = (
    (MNLI_M,),
    *_accuracies("qqp", "qnli", "sst2"),
    (COLA,),
    (STSB_SPEARMAN,),
    *_accuracies("mrpc", "rte"),
)
"""One metric per task (accuracy if the server has two), and MNLI on its matched set only."""
BOTH_METRICS: tuple[Term, ...] = (
    (MNLI_M, MNLI_MM),
    (_column("qqp", "f1", "accuracy"),),
    *_accuracies("qnli", "sst2"),
    (COLA,),
    (_column("stsb", "pearson", "spearman"),),
    (_column("mrpc", "f1", "accuracy"),),
    *_accuracies("rte"),
)
"""The server's metrics; several metrics of one task are averaged first."""
SUPERGLUE: tuple[Term, ...] = (
    *_accuracies("boolq"),
    (_column("cb", "macro_f1", "accuracy"),),
    *_accuracies("copa"),
    (_column("multirc", "f1_answers", "exact_match_groups"),),
    (_column("record", "token_f1", "exact_match"),),
    (_column("superglue_rte", "accuracy", name="rte"),),
    *_accuracies("wic", "wsc"),
)
"""The eight tasks of SuperGLUE; several metrics of one task are averaged first."""
MICRO_SUPERGLUE: tuple[Term, ...] = (
    (_column("micro-boolq", "accuracy", name="BoolQ"),),
    (_column("micro-cb", "accuracy", "macro_f1", name="CB"),),
    (_column("micro-copa", "accuracy", name="COPA"),),
    (_column("micro-multirc", "f1_answers", "exact_match_groups", name="MultiRC"),),
    (_column("micro-record", "accuracy", name="ReCoRD"),),
    (_column("micro-superglue-rte", "accuracy", name="RTE"),),
    (_column("micro-wic", "accuracy", name="WiC"),),
    (_column("micro-wsc", "accuracy", name="WSC"),),
)
"""The same of the micro-world."""


def _rouge(task: str) -> Term:
    return tuple(
        _column(task, metric, name=f"{task}_{metric}", split="test")
        for metric in ("rouge1", "rouge2", "rougeLsum")
    )


AVERAGES: dict[str, Average] = {
    rule.name: rule
    for rule in (
        Average("mean_of_columns", formula="mean of all columns of the suite", source="ours"),
        Average(
            name="bert_table1",
            formula="mean of 9 columns: MNLI-m and MNLI-mm as two, F1 for QQP and MRPC, "
            "Spearman for STS-B, Matthews for CoLA, accuracy for the rest; without WNLI",
            source="Devlin et al. 2019, table 1: reproduces 4 of its 5 printed averages exactly, "
            "the fifth within the rounding of its cells",
            terms=(
                (MNLI_M,),
                (MNLI_MM,),
                (_column("qqp", "f1"),),
                *_accuracies("qnli", "sst2"),
                (COLA,),
                (STSB_SPEARMAN,),
                (_column("mrpc", "f1"),),
                *_accuracies("rte"),
            ),
        ),
        Average(
            name="glue_server9",
            formula="mean of 9 tasks with WNLI: the metrics of a task averaged first (F1 and "
            "accuracy for QQP and MRPC, Pearson and Spearman for STS-B), MNLI the mean of both "
            "its sets; without AX",
            source="Wang et al. 2019, GLUE, section 3.4: reproduces the five averages of T5",
            terms=(*BOTH_METRICS, *_accuracies("wnli")),
        ),
        Average(
            name="t5_dev8",
            formula="as glue_server9, without WNLI",
            source="Raffel et al. 2020, which trains without WNLI",
            terms=BOTH_METRICS,
        ),
        Average(
            name="electra_dev8",
            formula="mean of 8 tasks: MNLI-m, accuracy for QQP and MRPC, Spearman for STS-B, "
            "Matthews for CoLA, accuracy for the rest; without MNLI-mm and WNLI",
            source="Clark et al. 2020, table 2: reproduces all 7 printed averages",
            terms=SINGLE_METRIC,
        ),
        Average(
            name="electra_test8",
            formula="as electra_dev8, with WNLI instead of QNLI",
            source="Clark et al. 2020, table 3, test sets: reproduces its averages; column Score "
            "is the server's and does not follow from the printed cells",
            terms=(
                (MNLI_M,),
                *_accuracies("qqp", "sst2"),
                (COLA,),
                (STSB_SPEARMAN,),
                *_accuracies("mrpc", "rte", "wnli"),
            ),
        ),
        Average(
            name="distil9",
            formula="as electra_dev8, with WNLI as the ninth task",
            source="README of Sanh et al. 2019 (DistilBERT): reproduces its averages",
            terms=(*SINGLE_METRIC, *_accuracies("wnli")),
        ),
        Average(
            name="superglue8",
            formula="mean of 8 tasks: the metrics of a task averaged first (macro-F1 and accuracy "
            "for CB, F1a and exact match for MultiRC, F1 and exact match for ReCoRD), accuracy for "
            "the rest; without AX-b and AX-g",
            source="Wang et al. 2019, SuperGLUE, section 3.3: reproduces all 20 averages of the "
            "leaderboard of 2021, one of them (76.05, printed 76.0) by rounding down",
            terms=SUPERGLUE,
        ),
        Average(
            name="micro_superglue8",
            formula="mean of 8 tasks: the metrics of a task averaged first (accuracy and macro-F1 "
            "for CB, F1a and exact match for MultiRC), accuracy for the rest; without AX-b and "
            "AX-g",
            source="ours, as superglue8",
            terms=MICRO_SUPERGLUE,
        ),
        Average(
            name="albert5",
            formula="mean of 5 tasks: F1 and exact match averaged first for SQuAD 1.1 and 2.0, "
            "accuracy for MNLI-m, SST-2 and RACE",
            source="Lan et al. 2020 (ALBERT), table 2: reproduces its averages (no suite has RACE)",
            terms=(
                (_column("squad1", "token_f1", "exact_match"),),
                (_column("squad2", "token_f1", "exact_match"),),
                (MNLI_M,),
                *_accuracies("sst2", "race"),
            ),
        ),
        Average(
            name="rouge_mean",
            formula="mean of CNN/DailyMail and XSum, each the mean of ROUGE-1, ROUGE-2 and "
            "sentence-level ROUGE-L (ROUGE-Lsum)",
            source="ours: papers print the three scores separately",
            terms=(_rouge("cnndm"), _rouge("xsum")),
        ),
    )
}


def get_average(name: str) -> Average:
    """The rule of this name.

    Raises:
        ValueError: an unknown rule.
    """
    if name not in AVERAGES:
        raise ValueError(unknown_name("the averaging rule", name, AVERAGES))
    return AVERAGES[name]
