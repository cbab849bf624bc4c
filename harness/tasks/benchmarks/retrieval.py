"""Retrieval of documents, for evaluation only: ranked by the cosine similarity of embeddings."""

from harness.tasks.benchmarks.squad import SQUAD_TASKS
from harness.tasks.task import Column, Suite, Task

# Each question of SQuAD 1.1 among the 2,067 paragraphs of the dev set. ReQA (Ahmad et al. 2019,
# MRQA) retrieves sentences of SQuAD instead.
RETRIEVAL_TASKS: tuple[Task, ...] = (
    Task(
        name="squad_retrieval",
        kind="retrieval",
        data=SQUAD_TASKS[0].data,
        prepare="relevant",
        train=None,
        text_fields=("question", "context"),
        label_field="relevance",
        group_field="id",
        metrics=("ndcg_at_10", "mrr", "recall_at_5"),
        chance=0.0022,
        ceiling=1.0,
        licence="CC BY-SA 4.0",
        citation="Rajpurkar et al. 2016, SQuAD, EMNLP",
    ),
)
"""Chance is the expected score of a random order of the paragraphs."""

RETRIEVAL_V1 = Suite(
    name="retrieval-v1",
    columns=tuple(
        Column(name=name, task="squad_retrieval", metrics=(metric,))
        for name, metric in (("nDCG", "ndcg_at_10"), ("MRR", "mrr"), ("recall", "recall_at_5"))
    ),
    citation="Rajpurkar et al. 2016, EMNLP",
)
