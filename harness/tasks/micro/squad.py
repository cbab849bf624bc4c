"""micro-squad-v1: spans of passages that answer questions, with and without unanswerable ones.

Chance is a random candidate of the right type, or always "no answer".
"""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Suite, Task

MICRO_SQUAD_TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        microworld_task(
            "micro-squad",
            "reading_comprehension",
            "SQuAD 1.1: Rajpurkar et al. 2016, EMNLP",
            kind="extraction",
            text_fields=("question", "context"),
            label_field="answers",
            metrics=("token_f1", "exact_match"),
            chance=0.27,
            ceiling=1.0,
            train_size=3000,
        ),
        microworld_task(
            "micro-squad2",
            "unanswerable_reading_comprehension",
            "SQuAD 2.0: Rajpurkar et al. 2018, ACL",
            kind="extraction",
            text_fields=("question", "context"),
            label_field="answers",
            metrics=("token_f1", "exact_match"),
            chance=0.334,
            ceiling=1.0,
            train_size=3000,
        ),
    )
}

MICRO_SQUAD_V1 = Suite(
    name="micro-squad-v1",
    tasks=tuple(MICRO_SQUAD_TASKS),
    columns=tuple(
        Column(name=f"{task} {name}", task=task, metrics=(metric,))
        for task in MICRO_SQUAD_TASKS
        for name, metric in (("EM", "exact_match"), ("F1", "token_f1"))
    ),
    average="mean_of_columns",
    citation=microworld_citation("SQuAD: Rajpurkar et al. 2016 and 2018"),
)
