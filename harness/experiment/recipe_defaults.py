"""From what is said of a run to all of it: what is missing comes from its recipe."""

from collections.abc import Mapping
from typing import Any

from harness.core.config import deep_merge, unknown_name
from harness.experiment.named_values import DEFAULT_RECIPE, ROLES
from harness.models.checkpoints import files, objectives
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain

UNBOUNDED = 2**30
"""Positions of a checkpoint whose files name no bound."""

OF_THE_TEXT = ("corpus", "tokenizer")
"""What another run has from the run that builds on it in any case,"""

OF_THE_TRAINING = ("packing", "phases", "batch_size", "optimizer", "schedule", "budget")
"""what it takes over where the experiment says it and it says nothing itself,"""

OF_THE_NETWORK = ("max_position", "dropout", "attention_dropout", "initializer_range")
"""and the same of its model."""


def resolve_pretrain(fields: Mapping[str, Any]) -> Pretrain:
    """`fields` laid over the recipe they name (BERT if they name none).

    Raises:
        ValueError: they do not describe a run.
    """
    return Pretrain.read(on_recipe(fields))


def on_recipe(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` and, where they say nothing, those of the recipe; so, too, for the runs that this
    one builds on.

    Raises:
        ValueError: there is no such recipe.
    """
    recipe = fields.get("recipe", DEFAULT_RECIPE)
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise ValueError(unknown_name("the recipe", recipe, RECIPES))
    resolved = _laid(RECIPES[recipe].model_dump(), fields)
    for role in ROLES:
        if isinstance(resolved.get(role), Mapping):
            resolved[role] = _other_run(role, resolved, fields)
    return resolved | _of_the_checkpoint(resolved["model"])


def _of_the_checkpoint(model: Any) -> dict[str, Any]:
    """What stands in place of a run's fields where there is a checkpoint: nothing to spend, and, if
    its files lie at hand, what it was trained on and how far it can read."""
    name = model.get("checkpoint") if isinstance(model, Mapping) else None
    if not isinstance(name, str):
        return {}
    fields: dict[str, Any] = {"budget": {"tokens": 0}, "checkpoint_fractions": ()}
    folder = files.found(name, model.get("revision"))
    if folder and not files.problem(folder):  # else said where data are checked
        learned = objectives.trained_objective(folder)
        fields["objective"] = learned
        if isinstance(learned, str):
            fields["objective"] = OBJECTIVES[learned].model_dump()
        most = files.positions(files.read_config(folder))
        fields["model"] = {**model, "max_position": int(min(most, UNBOUNDED))}
    return fields


def _other_run(role: str, resolved: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A teacher or a start: its own fields over those of the run that builds on it, over those of
    the recipe that it names, or that the run's recipe gives it."""
    own = fields.get(role) or {}
    inherited = {name: fields[name] for name in OF_THE_TRAINING if name in fields}
    inherited |= {name: resolved[name] for name in OF_THE_TEXT}
    network = fields.get("model")
    if isinstance(network, Mapping):
        common = {name: network[name] for name in OF_THE_NETWORK if name in network}
        inherited["model"] = common
    if "recipe" in own:
        return on_recipe(_laid(inherited, own))
    given = RECIPES[resolved["recipe"]].model_dump()[role]
    plain = {
        name: value
        for name, value in resolved.items()
        if name not in (*ROLES, "checkpoint_fractions")
    }
    return _laid(_laid(given or plain, inherited), own)


def _laid(base: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` over `base`; a budget replaces the other, for its units exclude each other."""
    if "budget" in fields:
        base = {name: value for name, value in base.items() if name != "budget"}
    return deep_merge(base, fields)
