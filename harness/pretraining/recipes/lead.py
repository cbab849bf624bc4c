"""Lead-3, the first three sentences of a text as its summary (See et al. 2017, section 5)."""

from harness.models import Architecture
from harness.pretraining.recipes.bag_of_words import bag_of_words

lead = bag_of_words.model_copy(update={"recipe": "lead", "model": Architecture(family="lead")})
