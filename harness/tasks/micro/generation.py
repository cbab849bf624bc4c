"""micro-sum-v1 and micro-mt-v1: summarisation, and translation into three generated languages."""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Suite, Task, main_columns

MICRO_SUM_TASKS: tuple[Task, ...] = tuple(
    microworld_task(
        name,
        generator,
        modelled_on,
        kind="generation",
        text_fields=("source",),
        label_field="target",
        metrics=("rouge1", "rouge2", "rougeL", "rougeLsum"),
        ceiling=1.0,
        train_size=2000,
    )
    for name, generator, modelled_on in (
        ("micro-sum", "summary", "CNN/DailyMail: See et al. 2017, ACL"),
        ("micro-xsum", "headline", "XSum: Narayan et al. 2018, EMNLP"),
    )
)

MICRO_MT_TASKS: tuple[Task, ...] = tuple(
    microworld_task(
        f"micro-mt-{language}",
        f"translation_{language}",
        "WMT: Bojar et al. 2014",
        kind="generation",
        text_fields=("source",),
        label_field="target",
        metrics=("bleu",),
        chance=0.0,
        ceiling=1.0,
        train_size=2000,
    )
    for language in ("a", "b", "c")
)

MICRO_SUM_V1 = Suite(
    name="micro-sum-v1",
    columns=tuple(
        Column(name=f"{task.name} {name}", task=task.name, metrics=(metric,))
        for task in MICRO_SUM_TASKS
        for name, metric in (("R-1", "rouge1"), ("R-2", "rouge2"), ("R-L", "rougeLsum"))
    ),
    citation=microworld_citation("CNN/DailyMail and XSum"),
)

MICRO_MT_V1 = Suite(
    name="micro-mt-v1",
    columns=main_columns(MICRO_MT_TASKS),
    citation=microworld_citation("WMT: Bojar et al. 2014"),
)
