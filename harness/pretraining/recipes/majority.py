"""The most frequent answer of a task's train set: GLUE's and SuperGLUE's lowest row."""

from harness.models import Architecture
from harness.pretraining.recipes.bag_of_words import bag_of_words

majority = bag_of_words.model_copy(
    update={"recipe": "majority", "model": Architecture(family="majority")}
)
