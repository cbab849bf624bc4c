"""AXIS: published bundles. A recipe is a value; a variant is the base with the changed lines."""

from harness.recipes.albert import albert
from harness.recipes.bert import bert
from harness.recipes.deberta import deberta
from harness.recipes.modernbert import modernbert
from harness.recipes.pretrain import Phase, Pretrain
from harness.recipes.roberta import roberta
from harness.recipes.spanbert import spanbert

RECIPES: dict[str, Pretrain] = {
    "bert": bert,
    "roberta": roberta,
    "albert": albert,
    "spanbert": spanbert,
    "deberta": deberta,
    "modernbert": modernbert,
}

__all__ = ["RECIPES", "Phase", "Pretrain"]
