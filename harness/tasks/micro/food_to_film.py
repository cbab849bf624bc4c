"""micro-food-to-film-v1: sentiment learnt on food and asked of films."""

from harness.tasks.task import Column, MicroworldData, Prompt, Split, Suite, Task

LICENCE = "MIT"
CITATION = "Made by harness.data.microworld; in the shape of {}."

MICRO_FOOD_TO_FILM_TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="micro-food-to-film",
            kind="classification",
            data=MicroworldData(generator="food_to_film"),
            text_fields=("sentence1",),
            label_field="label",
            metrics=("accuracy",),
            labels=("negative", "positive"),
            prompt=Prompt(pattern="this was {answer}. {sentence1}", answers=("bad", "good")),
            evaluation=(
                Split(name="validation", where={"domain": "film"}),
                Split(name="food", of="validation", where={"domain": "food"}),
            ),
            chance=0.5,
            ceiling=0.958,
            train_size=1000,
            licence=LICENCE,
            citation=CITATION.format("Kotzias et al. 2015, KDD"),
        ),
    )
}

MICRO_FOOD_TO_FILM_V1 = Suite(
    name="micro-food-to-film-v1",
    tasks=tuple(MICRO_FOOD_TO_FILM_TASKS),
    columns=(
        Column(name="films", task="micro-food-to-film", metrics=("accuracy",)),
        Column(name="food", task="micro-food-to-film", split="food", metrics=("accuracy",)),
    ),
    average="mean_of_columns",
    citation="Made by harness.data.microworld, in the shape of Kotzias et al. 2015, KDD.",
)
