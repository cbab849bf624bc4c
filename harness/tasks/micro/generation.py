"""micro-sum-v1 and micro-mt-v1: summaries, and translation into three generated languages."""

from harness.tasks.task import Column, MicroworldData, Suite, Task

LICENCE = "MIT"
CITATION = "Made by harness.data.microworld; in the shape of {}."

MICRO_SUM_TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="micro-sum",
            kind="generation",
            data=MicroworldData(generator="summary"),
            text_fields=("source",),
            label_field="target",
            metrics=("rouge1", "rouge2", "rougeL", "rougeLsum"),
            ceiling=1.0,
            train_size=2000,
            licence=LICENCE,
            citation=CITATION.format("CNN/DailyMail: See et al. 2017, ACL"),
        ),
        Task(
            name="micro-xsum",
            kind="generation",
            data=MicroworldData(generator="headline"),
            text_fields=("source",),
            label_field="target",
            metrics=("rouge1", "rouge2", "rougeL", "rougeLsum"),
            ceiling=1.0,
            train_size=2000,
            licence=LICENCE,
            citation=CITATION.format("XSum: Narayan et al. 2018, EMNLP"),
        ),
    )
}

MICRO_MT_TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            name=f"micro-mt-{language}",
            kind="generation",
            data=MicroworldData(generator=f"translation_{language}"),
            text_fields=("source",),
            label_field="target",
            metrics=("bleu",),
            chance=0.0,
            ceiling=1.0,
            train_size=2000,
            licence=LICENCE,
            citation=CITATION.format("WMT: Bojar et al. 2014"),
        )
        for language in ("a", "b", "c")
    )
}

MICRO_SUM_V1 = Suite(
    name="micro-sum-v1",
    tasks=tuple(MICRO_SUM_TASKS),
    columns=tuple(
        Column(name=f"{task} {name}", task=task, metrics=(metric,))
        for task in MICRO_SUM_TASKS
        for name, metric in (("R-1", "rouge1"), ("R-2", "rouge2"), ("R-L", "rougeLsum"))
    ),
    average="mean_of_columns",
    citation="Made by harness.data.microworld, in the shape of CNN/DailyMail and XSum.",
)

MICRO_MT_V1 = Suite(
    name="micro-mt-v1",
    tasks=tuple(MICRO_MT_TASKS),
    columns=tuple(Column(name=task, task=task, metrics=("bleu",)) for task in MICRO_MT_TASKS),
    average="mean_of_columns",
    citation="Made by harness.data.microworld, in the shape of WMT: Bojar et al. 2014.",
)
