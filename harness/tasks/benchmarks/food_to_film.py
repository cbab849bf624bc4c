"""Domain transfer: sentiment, trained on restaurants and evaluated on films and goods.

The sentences of Kotzias et al. 2015. Each of the three sets has only a split `train` of 1000, so
evaluation uses the whole of another set. The data are published at UCI and not on the Hub: a mirror
must be created under this repository name.
"""

from harness.tasks.task import Column, HubData, Prompt, Split, Suite, Task

FOOD_TO_FILM_TASK = Task(
    name="food_to_film",
    kind="classification",
    data=HubData(path="uci/sentiment-labelled-sentences", config="yelp"),
    text_fields=("sentence",),
    labels=("negative", "positive"),
    # Gao et al. 2021, LM-BFF, table 1, for reviews of films and of goods
    prompt=Prompt(pattern="{sentence} It was {answer}.", answers=("terrible", "great")),
    evaluation=(
        Split(name="films", of="train", config="imdb"),
        Split(name="goods", of="train", config="amazon"),
    ),
    metrics=("accuracy",),
    chance=0.5,  # balanced
    train_size=1000,
    licence="CC BY 4.0",
    citation="Kotzias et al. 2015, KDD",
)

FOOD_TO_FILM_V1 = Suite(
    name="food-to-film-v1",
    columns=tuple(
        Column(name=split.name, task="food_to_film", split=split.name, metrics=("accuracy",))
        for split in FOOD_TO_FILM_TASK.evaluation
    ),
    citation="Kotzias et al. 2015, KDD",
)
