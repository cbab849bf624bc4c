"""micro-squad-v1: extractive question answering, without and with unanswerable questions.

Chance is a random candidate of the correct type, or "no answer" to every question.
"""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Suite, Task

MICRO_SQUAD_TASKS: tuple[Task, ...] = (
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

MICRO_SQUAD_V1 = Suite(
    name="micro-squad-v1",
    columns=tuple(
        Column(name=f"{task.name} {name}", task=task.name, metrics=(metric,))
        for task in MICRO_SQUAD_TASKS
        for name, metric in (("EM", "exact_match"), ("F1", "token_f1"))
    ),
    citation=microworld_citation("SQuAD: Rajpurkar et al. 2016 and 2018"),
)
