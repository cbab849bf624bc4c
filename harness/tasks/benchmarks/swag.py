"""SWAG and OpenBookQA: the correct one of four continuations or answers."""

from harness.tasks.task import (
    SERVER_TEST,
    VALIDATION_AND_TEST,
    Column,
    HubData,
    Prompt,
    Suite,
    Task,
)

SWAG_TASKS: tuple[Task, ...] = (
    Task(
        name="swag",
        kind="multiple_choice",
        data=HubData(
            path="allenai/swag",
            config="regular",
            revision="dc48148372b3853a9c7bae7bb06c161b46d8364a",
        ),
        prepare="swag",
        text_fields=("startphrase",),
        choices_field="choices",
        prompt=Prompt(pattern="{startphrase} {answer}"),  # the task is to continue the text
        test=SERVER_TEST,
        metrics=("accuracy",),
        chance=0.25,  # a random choice
        ceiling=0.88,  # five annotators on 100 examples of the test set (Zellers et al. 2018)
        train_size=73_546,
        citation="Zellers et al. 2018, SWAG, EMNLP",
    ),
    Task(
        name="openbookqa",
        kind="multiple_choice",
        data=HubData(
            path="allenai/openbookqa",
            config="main",
            revision="388097ea7776314e93a529163e0fea805b8a6454",
        ),
        prepare="openbookqa",
        text_fields=("question_stem",),
        choices_field="choices",
        prompt=Prompt(pattern="{question_stem} {answer}"),  # Brown et al. 2020, GPT-3, appendix G
        evaluation=VALIDATION_AND_TEST,
        metrics=("accuracy",),
        chance=138 / 500,  # always the same position, on either set; a random choice scores 0.25
        ceiling=0.917,  # human (Mihaylov et al. 2018, table 4)
        train_size=4957,
        citation="Mihaylov et al. 2018, OpenBookQA, EMNLP",
    ),
)

SWAG_V1 = Suite(
    name="swag-v1",
    columns=(Column(name="swag", task="swag", metrics=("accuracy",)),),
    citation="Zellers et al. 2018, SWAG, EMNLP",
)
