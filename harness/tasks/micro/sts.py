"""micro-sts-v1: sentence similarity, for evaluation only."""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Split, Suite, Task

MICRO_STS_TASKS: tuple[Task, ...] = (
    microworld_task(
        "micro-sts",
        "sentence_similarity",
        "STS12-16: Agirre et al. 2012 to 2016, SemEval",
        kind="similarity",
        metrics=("spearman", "spearman_mean_of_groups"),
        train=None,
        symmetric=True,
        evaluation=(Split(name="test"),),
        chance=0.0,
        group_field="subset",
        ceiling=0.973,
    ),
    microworld_task(
        "micro-sickr",
        "relatedness",
        "SICK-R: Marelli et al. 2014, LREC",
        kind="similarity",
        metrics=("spearman",),
        train=None,
        symmetric=True,
        evaluation=(Split(name="test"),),
        chance=0.0,
        ceiling=0.965,
    ),
)

MICRO_STS_V1 = Suite(
    name="micro-sts-v1",
    columns=(
        Column(name="STS", task="micro-sts", split="test", metrics=("spearman",)),
        Column(
            name="STS, mean of subsets",
            task="micro-sts",
            split="test",
            metrics=("spearman_mean_of_groups",),
        ),
        Column(name="SICK-R", task="micro-sickr", split="test", metrics=("spearman",)),
    ),
    citation=microworld_citation("STS12-16 and SICK-R"),
)
