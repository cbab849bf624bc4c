"""micro-swag-v1: which of four sentences continues a text."""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Prompt, Suite, Task

MICRO_SWAG_TASKS: tuple[Task, ...] = (
    microworld_task(
        "micro-swag",
        "continuation",
        "SWAG: Zellers et al. 2018, EMNLP",
        kind="multiple_choice",
        text_fields=("context",),
        choices_field="choices",
        prompt=Prompt(pattern="{context} {answer}"),
        chance=0.25,
        ceiling=0.955,
    ),
)

MICRO_SWAG_V1 = Suite(
    name="micro-swag-v1",
    columns=(Column(name="SWAG", task="micro-swag", metrics=("accuracy",)),),
    citation=microworld_citation("SWAG: Zellers et al. 2018"),
)
