"""BEIR: retrieval without training on the collection (Thakur et al. 2021, NeurIPS Datasets and
Benchmarks), its small sets. Documents, queries and judgements are repositories of their own."""

from harness.tasks.task import CollectionData, Column, Split, Suite, Task

CITATION = "Thakur et al. 2021, BEIR, NeurIPS Datasets and Benchmarks"


def _beir(name: str, own: str) -> Task:
    """A set of BEIR by its name on the Hub.

    Args:
        own: citation of the data.
    """
    return Task(
        name=f"beir_{name}",
        kind="retrieval",
        data=CollectionData(path=f"BeIR/{name}-qrels", collection=f"BeIR/{name}"),
        train=None,
        text_fields=("query", "document"),
        label_field="relevance",
        group_field="query_id",
        evaluation=(Split(name="test"),),
        metrics=("ndcg_at_10", "mrr", "recall_at_5"),
        ceiling=1.0,
        licence="see its card",
        citation=f"{own}; {CITATION}",
    )


BEIR_TASKS: tuple[Task, ...] = (
    _beir("nfcorpus", "Boteva et al. 2016, NFCorpus, ECIR"),
    _beir("fiqa", "Maia et al. 2018, FiQA, WWW Companion"),
    _beir("arguana", "Wachsmuth et al. 2018, ArguAna, ACL"),
    _beir("scifact", "Wadden et al. 2020, SciFact, EMNLP"),
)
"""In the order of BEIR's table 1, which counts 3,633, 57,638, 8,674 and 5,183 documents, and 323,
648, 1,406 and 300 queries of the test split. Of NFCorpus, documents are relevant or very relevant
(grades 1 and 2); of the others, relevant. The paper's metric is nDCG@10 (section 3.3), whose gain
is the grade, as trec_eval has it. Licences: the cards state one for all sets, which is not that of
every source. No commits are pinned, as none could be established."""

BEIR_V1 = Suite(
    name="beir-small-v1",
    columns=tuple(
        Column(name=title, task=task.name, split="test", metrics=("ndcg_at_10",))
        for title, task in zip(("NFCorpus", "FiQA", "ArguAna", "SciFact"), BEIR_TASKS, strict=True)
    ),
    citation=CITATION,
)
