"""Semantic textual similarity, for evaluation only: STS12 to STS16, STS-B, SICK-R.

Each year of STS consists of subsets, and papers rarely state how they combine them: `all`, one
Spearman correlation over all pairs (as SimCSE), or `mean`, the mean correlation over the subsets
(Gao et al. 2021, appendix B). They are two suites here.

SICK-R is all 9,927 pairs of SICK, as in MTEB. Papers that evaluate with SentEval (senteval/sick.py;
Conneau and Kiela 2018) have the 4,927 pairs of its test split, which is no data set on the Hub: see
docs/tasks.md.

STS-B is drawn from STS 2012 to 2017, so a model trained on one must not be tested on the other.
"""

from typing import Any

from harness.tasks.task import Column, HubData, Split, Suite, Task, main_columns

STS_CITATION = "Agirre et al. 2012 to 2016, SemEval; Cer et al. 2017, SemEval"


def _similarity(name: str, path: str, revision: str, citation: str, **fields: Any) -> Task:
    """Pairs without subsets, unless `fields` say otherwise."""
    common = {
        "kind": "similarity",
        "train": None,
        "text_fields": ("sentence1", "sentence2"),
        "symmetric": True,
        "label_field": "score",
        "evaluation": (Split(name="test"),),
        "metrics": ("spearman", "pearson"),
        "chance": 0.0,
        "licence": "mixed, by source",
    }
    data = HubData(path=f"mteb/{path}-sts", revision=revision)
    return Task(name=name, data=data, citation=citation, **{**common, **fields})


def _year(name: str, revision: str, citation: str) -> Task:
    return _similarity(
        name,
        name,
        revision,
        citation,
        prepare="sts_subsets",
        group_field="subset",
        metrics=("spearman", "spearman_mean_of_groups"),
    )


# The commits are those of MTEB (Muennighoff et al. 2023).
STS_TASKS: tuple[Task, ...] = (
    _year("sts12", "a0d554a64d88156834ff5ae9920b964011b16384", "Agirre et al. 2012, SemEval"),
    # without the subset SMT, whose licence forbids it, as in every published table
    _year("sts13", "7e90230a92c190f1bf69ae9002b8cea547a64cca", "Agirre et al. 2013, *SEM"),
    _year("sts14", "6031580fec1f6af667f0bd2da0a551cf4f0b2375", "Agirre et al. 2014, SemEval"),
    _year("sts15", "ae752c7c21bf194d8b67fd573edf7ae58183cbe3", "Agirre et al. 2015, SemEval"),
    _year("sts16", "4d8694f8f0e0100860b497b999b3dbed754a0513", "Agirre et al. 2016, SemEval"),
    _similarity(
        "stsb_similarity",
        "stsbenchmark",
        "b0fddb56ed78048fa8b90373c8a3cfc37b684831",
        "Cer et al. 2017, SemEval",
    ),
    _similarity(
        "sickr",
        "sickr",
        "20a6d6f312dd54037fe07a32d58e5e168867909d",
        "Marelli et al. 2014, LREC",
        licence="CC BY-NC-SA 3.0",
    ),
)

STS_V1 = Suite(
    name="sts-v1",
    columns=main_columns(STS_TASKS, "test"),
    citation=STS_CITATION,
)

# STS-B and SICK-R have no subsets: their column is the same in both suites.
STS_MEAN_V1 = Suite(
    name="sts-mean-v1",
    columns=tuple(
        Column(
            name=task.name,
            task=task.name,
            split="test",
            metrics=("spearman_mean_of_groups" if task.group_field else "spearman",),
        )
        for task in STS_TASKS
    ),
    citation=STS_CITATION,
)
