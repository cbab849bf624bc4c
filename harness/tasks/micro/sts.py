"""micro-sts-v1: how alike two sentences are, nothing trained on it."""

from harness.tasks.task import Column, MicroworldData, Split, Suite, Task

LICENCE = "MIT"
CITATION = "Made by harness.data.microworld; in the shape of {}."

MICRO_STS_TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="micro-sts",
            kind="similarity",
            data=MicroworldData(generator="likeness"),
            text_fields=("sentence1", "sentence2"),
            label_field="label",
            metrics=("spearman", "spearman_mean_of_groups"),
            train=None,
            symmetric=True,
            evaluation=(Split(name="test"),),
            chance=0.0,
            group_field="subset",
            ceiling=0.975,
            train_size=0,
            licence=LICENCE,
            citation=CITATION.format("STS12-16: Agirre et al. 2012 to 2016, SemEval"),
        ),
        Task(
            name="micro-sickr",
            kind="similarity",
            data=MicroworldData(generator="relatedness"),
            text_fields=("sentence1", "sentence2"),
            label_field="label",
            metrics=("spearman",),
            train=None,
            symmetric=True,
            evaluation=(Split(name="test"),),
            chance=0.0,
            ceiling=0.965,
            train_size=0,
            licence=LICENCE,
            citation=CITATION.format("SICK-R: Marelli et al. 2014, LREC"),
        ),
    )
}

MICRO_STS_V1 = Suite(
    name="micro-sts-v1",
    tasks=tuple(MICRO_STS_TASKS),
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
    average="mean_of_columns",
    citation="Made by harness.data.microworld, in the shape of STS12-16 and SICK-R.",
)
