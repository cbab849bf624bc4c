"""micro-swag-v1: which of four sentences goes on."""

from harness.tasks.task import Column, MicroworldData, Prompt, Suite, Task

LICENCE = "MIT"
CITATION = "Made by harness.data.microworld; in the shape of {}."

MICRO_SWAG_TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="micro-swag",
            kind="multiple_choice",
            data=MicroworldData(generator="continuation"),
            text_fields=("context",),
            label_field="label",
            metrics=("accuracy",),
            choices_field="choices",
            prompt=Prompt(pattern="{context} {answer}"),
            chance=0.25,
            ceiling=0.955,
            train_size=1000,
            licence=LICENCE,
            citation=CITATION.format("SWAG: Zellers et al. 2018, EMNLP"),
        ),
    )
}

MICRO_SWAG_V1 = Suite(
    name="micro-swag-v1",
    tasks=tuple(MICRO_SWAG_TASKS),
    columns=(Column(name="SWAG", task="micro-swag", metrics=("accuracy",)),),
    average="mean_of_columns",
    citation="Made by harness.data.microworld, in the shape of SWAG: Zellers et al. 2018.",
)
