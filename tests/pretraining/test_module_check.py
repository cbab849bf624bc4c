"""Modules of plug-ins, tried on narrow networks before a run."""

from typing import Any

import pytest
import torch
from torch import Tensor

from harness.core.errors import MemberError
from harness.experiment.recipe_defaults import expand_names, resolve_pretrain
from harness.models import SIZES
from harness.pretraining.module import MODULES, PretrainingModule
from harness.pretraining.module_check import check_module
from harness.pretraining.recipes import RECIPES

OUTSIDE = torch.nn.Linear(1, 1)


class Outside(PretrainingModule):
    """With weights that are not its own."""

    def loss(self, part: Any, step: Any) -> Tensor:
        return OUTSIDE(super().loss(part, step)[None]).sum()


class Failing(PretrainingModule):
    """Cannot be made."""

    def __init__(self, *args: Any) -> None:
        raise KeyError("foo")


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in {"plain": PretrainingModule, "outside": Outside, "fails": Failing}.items():
        monkeypatch.setitem(MODULES, name, module)


def run(recipe: str, module: str) -> Any:
    fields: dict[str, Any] = {"recipe": recipe, "module": module, "size": "nano"}
    if RECIPES[recipe].teacher:
        fields["teacher"] = {"size": {**SIZES["nano"].model_dump(), "num_layers": 4}}
    return resolve_pretrain(expand_names(fields))


@pytest.mark.parametrize("recipe", [name for name in RECIPES if name != "checkpoint"])
def test_every_recipe_can_be_tried(recipe: str) -> None:
    check_module(run(recipe, "plain"))


@pytest.mark.parametrize("recipe", ["distilbert", "tinybert", "roberta"])
def test_weights_outside_the_module_are_found(recipe: str) -> None:
    with pytest.raises(MemberError, match=r"does not own 2, of shape \[1, 1\], \[1\]") as caught:
        check_module(run(recipe, "outside"))
    assert caught.value.functions == (Outside.loss,)


@pytest.mark.parametrize("recipe", ["distilbert", "majority"])
def test_what_is_not_trained_is_made_as_well(recipe: str) -> None:
    with pytest.raises(KeyError, match="foo"):
        check_module(run(recipe, "fails"))


@pytest.mark.parametrize("representation", ["bidirectional", "causal"])
def test_a_checkpoint_that_is_pretrained_further(representation: str) -> None:
    spec = run("gpt2" if representation == "causal" else "bert", "outside")
    imported = spec.model.model_copy(update={"family": "checkpoint"})
    with pytest.raises(MemberError, match="must own all weights"):
        check_module(spec.model_copy(update={"model": imported}))
