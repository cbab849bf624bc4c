"""The source copied as the output: what two languages or styles share."""

from harness.models import Architecture
from harness.pretraining.recipes.bag_of_words import bag_of_words

copy_source = bag_of_words.model_copy(
    update={"recipe": "copy_source", "model": Architecture(family="copy")}
)
