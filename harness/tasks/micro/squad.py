"""micro-squad-v1: spans of passages that answer questions, with and without unanswerable ones.

Chance is a random candidate of the right type, or always "no answer".
"""

from harness.tasks.task import Column, MicroworldData, Suite, Task

LICENCE = "MIT"
CITATION = "Made by harness.data.microworld; in the shape of {}."

MICRO_SQUAD_TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="micro-squad",
            kind="extraction",
            data=MicroworldData(generator="reading"),
            text_fields=("question", "context"),
            label_field="answers",
            metrics=("token_f1", "exact_match"),
            chance=0.27,
            ceiling=1.0,
            train_size=3000,
            licence=LICENCE,
            citation=CITATION.format("SQuAD 1.1: Rajpurkar et al. 2016, EMNLP"),
        ),
        Task(
            name="micro-squad2",
            kind="extraction",
            data=MicroworldData(generator="reading_or_not"),
            text_fields=("question", "context"),
            label_field="answers",
            metrics=("token_f1", "exact_match"),
            chance=0.334,
            ceiling=1.0,
            train_size=3000,
            licence=LICENCE,
            citation=CITATION.format("SQuAD 2.0: Rajpurkar et al. 2018, ACL"),
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
    citation="Made by harness.data.microworld, in the shape of SQuAD: Rajpurkar et al. 2016 and 2018.",
)
