"""SQuAD 1.1 and 2.0: answering a question by a span of a paragraph, or not at all."""

from harness.tasks.task import Column, HubData, Suite, Task

# Ceilings are human F1 on the test sets (SQuAD leaderboards); systems have exceeded both.
SQUAD_TASKS: tuple[Task, ...] = (
    Task(
        name="squad1",
        kind="extraction",
        data=HubData(
            path="rajpurkar/squad",
            config="plain_text",
            revision="7b6d24c440a36b6815f21b70d25016731768db1f",
        ),
        text_fields=("question", "context"),
        label_field="answers",
        metrics=("token_f1", "exact_match"),
        ceiling=0.912,
        train_size=87_599,
        licence="CC BY-SA 4.0",
        citation="Rajpurkar et al. 2016, SQuAD, EMNLP",
    ),
    Task(
        name="squad2",
        kind="extraction",
        data=HubData(
            path="rajpurkar/squad_v2",
            config="squad_v2",
            revision="3ffb306f725f7d2ce8394bc1873b24868140c412",
        ),
        text_fields=("question", "context"),
        label_field="answers",
        metrics=("token_f1", "exact_match"),
        chance=5945 / 11_873,  # "no answer" to every question of the dev set
        ceiling=0.895,
        train_size=130_319,
        licence="CC BY-SA 4.0",
        citation="Rajpurkar et al. 2018, Know What You Don't Know, ACL",
    ),
)

SQUAD_V1 = Suite(
    name="squad-v1",
    columns=tuple(
        Column(name=f"{task}_{name}", task=task, metrics=(metric,))
        for task in ("squad1", "squad2")
        for name, metric in (("em", "exact_match"), ("f1", "token_f1"))
    ),
    citation="Rajpurkar et al. 2016, EMNLP; Rajpurkar et al. 2018, ACL",
)
