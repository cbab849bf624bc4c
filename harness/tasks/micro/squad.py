"""micro-squad-v1: extractive question answering, without and with unanswerable questions.

Chance is a random candidate of the correct type, or "no answer" to every question.
"""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Suite, Task

SQUAD1 = "SQuAD 1.1: Rajpurkar et al. 2016, EMNLP"
SQUAD2 = "SQuAD 2.0: Rajpurkar et al. 2018, ACL"

MICRO_SQUAD_TASKS: tuple[Task, ...] = tuple(
    microworld_task(
        name,
        generator,
        modelled_on,
        kind="extraction",
        text_fields=("question", "context"),
        label_field="answers",
        metrics=("token_f1", "exact_match"),
        chance=chance,
        ceiling=1.0,
        train_size=3000,
    )
    for name, generator, chance, modelled_on in (
        ("micro-squad", "reading_comprehension", 0.27, SQUAD1),
        ("micro-squad2", "unanswerable_reading_comprehension", 0.334, SQUAD2),
    )
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
