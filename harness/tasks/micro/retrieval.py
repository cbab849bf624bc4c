"""micro-retrieval-v1: sentences ranked by the cosine similarity of embeddings."""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Split, Suite, Task

MICRO_RETRIEVAL_TASKS: tuple[Task, ...] = (
    microworld_task(
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
    ),
)
"""Chance is the expected score of a random order of the 20 candidates."""

MICRO_RETRIEVAL_V1 = Suite(
    name="micro-retrieval-v1",
    columns=tuple(
        Column(name=name, task="micro-retrieval", split="test", metrics=(metric,))
        for name, metric in (("nDCG", "ndcg_at_10"), ("MRR", "mrr"), ("recall", "recall_at_5"))
    ),
    citation=microworld_citation("passage retrieval"),
)
