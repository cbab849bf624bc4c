"""DREAM: questions about dialogues, with three answers each."""

from harness.tasks.task import VALIDATION_AND_TEST, Column, HubData, Suite, Task

DIALOGUE_TASKS: tuple[Task, ...] = (
    Task(
        name="dream",
        kind="multiple_choice",
        # The Hub has a script, which `datasets` no longer runs: a mirror needs a parquet copy.
        data=HubData(
            path="dataset-org/dream",
            config="plain_text",
            revision="78b128b6aa3ac08913a19a3c71064bf23206bdf6",
        ),
        prepare="dream",
        text_fields=("question", "dialogue"),
        choices_field="choices",
        evaluation=VALIDATION_AND_TEST,
        metrics=("accuracy",),
        chance=1 / 3,  # a random choice
        ceiling=0.955,  # human (Sun et al. 2019)
        train_size=6116,
        licence="non-commercial research",
        citation="Sun et al. 2019, DREAM, TACL",
    ),
)

DREAM_V1 = Suite(
    name="dream-v1",
    columns=(Column(name="dream", task="dream", split="test", metrics=("accuracy",)),),
    citation="Sun et al. 2019, DREAM, TACL",
)
