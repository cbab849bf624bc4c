"""Heads of the columns of scores."""

from harness.tasks.task import Column

METRIC_LABELS = {
    "accuracy": "acc",
    "f1": "F1",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "matthews": "Mcc",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "spearman_mean_of_groups": "mean Spearman",
    "exact_match": "EM",
    "token_f1": "F1",
    "accuracy_tags": "acc",
    "entity_f1": "F1",
    "entity_f1_strict": "strict F1",
    "argument_f1": "F1",
    "coref_f1": "CoNLL F1",
    "muc": "MUC",
    "b_cubed": "B3",
    "ceaf_e": "CEAF-e",
    "rouge1": "R-1",
    "rouge2": "R-2",
    "rougeL": "R-L",
    "rougeLsum": "R-Lsum",
    "bleu": "BLEU",
    "bleu_intl": "BLEU (intl)",
    "bleu_smoothed": "BLEU-4",
    "f1_answers": "F1a",
    "exact_match_groups": "EM",
    "parity": "parity",
    "ndcg_at_10": "at 10",
    "mrr": "MRR",
    "recall_at_5": "at 5",
}
"""Short names of metrics for column heads."""


def column_label(column: Column) -> str:
    """Name and metrics of a column; a name that ends with its metric is left as it is."""
    metrics = metrics_label(column)
    return column.name if column.name.endswith(metrics) else f"{column.name} ({metrics})"


def metrics_label(column: Column) -> str:
    """Short names of the column's metrics, which are averaged."""
    return "/".join(METRIC_LABELS.get(metric, metric) for metric in column.metrics)
