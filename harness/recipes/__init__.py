"""AXIS: published bundles. A recipe is a value; a variant is the base with the changed lines."""

from harness.recipes.bert import bert
from harness.recipes.pretrain import Phase, Pretrain
from harness.recipes.roberta import roberta

RECIPES: dict[str, Pretrain] = {"bert": bert, "roberta": roberta}

__all__ = ["RECIPES", "Phase", "Pretrain"]
