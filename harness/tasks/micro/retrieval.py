"""micro-retrieval-v1: sentences ranked for a query by the cosine of their vectors."""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Split, Suite, Task

MICRO_RETRIEVAL_TASKS: dict[str, Task] = {
    "micro-retrieval": microworld_task(
        "micro-retrieval",
        "retrieval",
        "MS MARCO: Bajaj et al. 2016",
        kind="similarity",
        text_fields=("query", "document"),
        label_field="relevance",
        group_field="query_id",
        metrics=("ndcg_at_10", "mrr", "recall_at_5"),
        train=None,
        evaluation=(Split(name="test"),),
        chance=0.319,
        ceiling=1.0,
    )
}
"""Chance is the mean over all orders of the 20 candidates of a query."""

MICRO_RETRIEVAL_V1 = Suite(
    name="micro-retrieval-v1",
    tasks=tuple(MICRO_RETRIEVAL_TASKS),
    columns=tuple(
        Column(name=name, task="micro-retrieval", split="test", metrics=(metric,))
        for name, metric in (("nDCG", "ndcg_at_10"), ("MRR", "mrr"), ("recall", "recall_at_5"))
    ),
    average="mean_of_columns",
    citation=microworld_citation("passage retrieval"),
)
