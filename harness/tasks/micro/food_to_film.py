"""micro-food-to-film-v1: sentiment, trained on food and evaluated on films and food."""

from harness.tasks.micro.microworld_task import microworld_citation, microworld_task
from harness.tasks.task import Column, Prompt, Split, Suite, Task

MICRO_FOOD_TO_FILM_TASKS: tuple[Task, ...] = (
    microworld_task(
        "micro-food-to-film",
        "food_to_film",
        "Kotzias et al. 2015, KDD",
        text_fields=("sentence1",),
        labels=("negative", "positive"),
        prompt=Prompt(pattern="this was {answer}. {sentence1}", answers=("bad", "good")),
        evaluation=(
            Split(name="validation", where={"domain": "film"}),
            Split(name="food", of="validation", where={"domain": "food"}),
        ),
        chance=0.5,
        ceiling=0.958,
    ),
)

MICRO_FOOD_TO_FILM_V1 = Suite(
    name="micro-food-to-film-v1",
    columns=(
        Column(name="films", task="micro-food-to-film", metrics=("accuracy",)),
        Column(name="food", task="micro-food-to-film", split="food", metrics=("accuracy",)),
    ),
    citation=microworld_citation("Kotzias et al. 2015, KDD"),
)
