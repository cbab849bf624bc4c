"""micro-dialogue-v1: which of four responses belongs to a dialogue."""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Prompt, Suite, Task

MICRO_DIALOGUE_TASKS: tuple[Task, ...] = (
    microworld_task(
        "micro-dialogue",
        "dialogue",
        "the Ubuntu Dialogue Corpus: Lowe et al. 2015, SIGDIAL, section 4",
        kind="multiple_choice",
        text_fields=("dialogue",),
        choices_field="choices",
        prompt=Prompt(pattern="{dialogue} {answer}"),
        chance=0.25,
        ceiling=0.962,
    ),
)
"""Accuracy is recall at 1 of 4 responses, R_4@1."""

MICRO_DIALOGUE_V1 = Suite(
    name="micro-dialogue-v1",
    columns=(Column(name="dialogue", task="micro-dialogue", metrics=("accuracy",)),),
    citation=microworld_citation("response selection: Lowe et al. 2015"),
)
