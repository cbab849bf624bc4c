"""Completes `pretrain`: names of shipped values become values, and the recipe gives the fields that
are not set."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from harness.core.config import ConfigModel, deep_merge, unknown_name
from harness.data.corpora import CORPORA, with_named_fields
from harness.data.corpora.sources import Corpus
from harness.data.tokenizers import TOKENIZERS
from harness.finetuning.protocol import Protocol
from harness.models import BOUNDED, MODELS, SIZES, Size
from harness.models.checkpoints import files, objectives
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.recipes import RECIPES, small_sizes
from harness.pretraining.recipes.pretrain import Pretrain

NAMED: dict[str, Mapping[str, ConfigModel]] = {
    "corpus": CORPORA,
    "held_out": CORPORA,
    "tokenizer": TOKENIZERS,
    "objective": OBJECTIVES,
    "model": MODELS,
    "size": SIZES,
}
"""Field of `pretrain` to the values that it accepts by name."""

DEFAULT_RECIPE = "bert"

CORPUS: TypeAdapter[Corpus] = TypeAdapter(Corpus)
PHASES = TypeAdapter(Annotated[tuple[Phase, ...], Field(min_length=1)])

ROLES = ("init_from", "teacher")
"""Fields of a pretraining run that are pretraining runs themselves."""

UNBOUNDED = 2**30
"""`max_position` of checkpoints without a limit."""

TEXT_FIELDS = ("corpus", "held_out", "tokenizer")
"""Fields that `init_from` and `teacher` always take from the run that uses them."""

TRAINING_FIELDS = ("packing", "phases", "batch_size", "optimizer", "schedule", "budget")
"""Fields that they take from it unless they set them, if the experiment declares them."""

POSITIONS = ("model.checkpoint", "model.max_position")
"""Fields of `pretrain` that determine `evaluate.protocol.max_sequence_length` where it is not set
and the network has fewer positions than its default."""

MODEL_FIELDS = ("max_position", "dropout", "attention_dropout", "initializer_range")
"""The same for fields of the model."""

NOT_OF_A_NAME = ("dropout", "attention_dropout", "initializer_range")
"""Fields of the model that a name leaves to the recipe or to a small size, unless it sets them."""


def expand_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` with names replaced by values; unknown names are kept, and refused by validation."""
    out = dict(fields)
    for field, registry in NAMED.items():
        name = out.get(field)
        if isinstance(name, str) and name in registry:
            value = registry[name]
            out[field] = value.model_dump(exclude={*NOT_OF_A_NAME} - value.model_fields_set)
    for field in ("corpus", "held_out"):
        if isinstance(out.get(field), Mapping):
            out[field] = corpus = with_named_fields(out[field])
            if isinstance(sources := corpus.get("sources"), Mapping):
                parts = {name: with_named_fields(one) for name, one in sources.items()}
                out[field] = {**corpus, "sources": parts}
    if isinstance(tokenizer := out.get("tokenizer"), Mapping) and "corpus" in tokenizer:
        out["tokenizer"] = {**tokenizer, "corpus": with_named_fields(tokenizer["corpus"])}
    if isinstance(out.get("objective"), Mapping):
        out["objective"] = _with_kinds(out["objective"])
    for role in ROLES:
        if isinstance(out.get(role), Mapping):
            out[role] = expand_names(out[role])
    return out


def _with_kinds(objective: Mapping[str, Any]) -> dict[str, Any]:
    """Expands `transform: prefix` to `transform: {kind: prefix}`, so that fields can be merged into
    it, and adds the kind of a mixture."""
    out = {"kind": "mixture", **objective} if "mixture" in objective else dict(objective)
    for part in ("transform", "output"):
        if isinstance(out.get(part), str):
            out[part] = {"kind": out[part]}
    return out


def resolve_pretrain(fields: Mapping[str, Any]) -> Pretrain:
    """The run with `fields`, completed by the recipe they name (default: BERT).

    Raises:
        ValueError: the fields do not describe a run.
    """
    return Pretrain.read(with_recipe_defaults(fields))


def with_recipe_defaults(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` merged into those of the recipe; also for `init_from` and `teacher`.

    Raises:
        ValueError: the recipe does not exist.
    """
    recipe = fields.get("recipe", DEFAULT_RECIPE)
    if not isinstance(recipe, str) or recipe not in RECIPES:
        raise ValueError(unknown_name("the recipe", recipe, RECIPES))
    resolved = _with_small_sizes(_merged(RECIPES[recipe].model_dump(), fields), fields)
    resolved = _with_nested_runs(resolved, fields)
    return resolved | _checkpoint_fields(resolved["model"])


def _with_small_sizes(resolved: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """`resolved` with the settings of a small network where `fields` sets none."""
    try:
        size, corpus = Size.read(resolved["size"]), CORPUS.validate_python(resolved["corpus"])
        recipe = RECIPES[resolved["recipe"]]
        if not small_sizes.is_small(size, recipe.size):
            return resolved
        settings = small_sizes.pretraining_settings(size, corpus, resolved["model"]["family"])
        if heads := recipe.model.num_kv_heads:
            shared = small_sizes.key_value_heads(size, recipe.size, heads)
            settings["model"]["num_kv_heads"] = shared
        if recipe.budget.is_zero:  # nothing is pretrained, whatever the size
            del settings["budget"]
        if recipe.optimizer.kind != settings["optimizer"]["kind"]:
            resolved = resolved | {"optimizer": {}}  # the numbers of another optimiser
        resolved = _merged(_merged(resolved, settings), fields)
        if "batch_size" not in fields:
            phases = PHASES.validate_python(resolved["phases"])
            length = sum(phase.fraction * phase.sequence_length for phase in phases)
            budget = Budget.read(resolved["budget"])
            resolved["batch_size"] = small_sizes.batch_size(budget, length)
    except ValidationError:
        pass  # an invalid field: reported when the run is read
    return resolved


def is_of_size(path: str, run: Pretrain) -> bool:
    """Whether the size of a network determines the field of `pretrain` at dotted `path`, also below
    `init_from` and `teacher`, unless it is set."""
    field = path.removeprefix("pretrain.")
    for role in ROLES:
        if field.startswith(f"{role}."):
            other = getattr(run, role)
            return other is not None and is_of_size(field.removeprefix(f"{role}."), other)
    return field in small_sizes.IMPLIED and is_small(run)


def is_small(run: Pretrain) -> bool:
    """Whether the settings of small networks apply to a run."""
    return small_sizes.is_small(run.size, RECIPES[run.recipe].size)


def evaluate_defaults(pretrain: Pretrain) -> dict[str, dict[str, Any]]:
    """Fields of `evaluate` that the size and the positions of the network determine."""
    settings: dict[str, dict[str, Any]] = {"finetune": {}, "protocol": {}}
    if is_small(pretrain):
        settings = small_sizes.evaluation_settings(pretrain.size)
    model, default = pretrain.model, Protocol().max_sequence_length
    is_bounded = model.checkpoint or model.family in BOUNDED
    if is_bounded and model.max_position < default:
        settings["protocol"]["max_sequence_length"] = model.max_position
    return settings


def _checkpoint_fields(model: Any) -> dict[str, Any]:
    """Fields that an external checkpoint determines: a budget of 0 and, if its files are local or
    cached, objective and maximum position; empty for other models."""
    name = model.get("checkpoint") if isinstance(model, Mapping) else None
    if not isinstance(name, str):
        return {}
    fields: dict[str, Any] = {"budget": {"tokens": 0}, "checkpoint_fractions": ()}
    folder = files.found(name, model.get("revision"))
    if folder and not files.problem(folder):  # other problems are in `data_checks`
        objective = objectives.trained_objective(folder)
        if isinstance(objective, str):
            objective = OBJECTIVES[objective].model_dump()
        fields["objective"] = objective
        most = files.positions(files.read_config(folder))
        fields["model"] = {**model, "max_position": int(min(most, UNBOUNDED))}
    return fields


def _with_nested_runs(resolved: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """`resolved` with complete `init_from` and `teacher`, of those that it has."""
    given = [role for role in ROLES if isinstance(resolved.get(role), Mapping)]
    return resolved | {role: _nested_run(role, resolved, fields) for role in given}


def _nested_run(
    role: str, resolved: Mapping[str, Any], fields: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields of `init_from` or `teacher`. In order of precedence: its own fields, those of the
    run that uses it, those of the recipe that it names or that this run's recipe gives it."""
    own = fields.get(role) or {}
    inherited = {name: fields[name] for name in TRAINING_FIELDS if name in fields}
    inherited |= {name: resolved[name] for name in TEXT_FIELDS}
    if isinstance(network := fields.get("model"), Mapping):
        inherited["model"] = {name: network[name] for name in MODEL_FIELDS if name in network}
    if "recipe" in own:
        return with_recipe_defaults(_merged(inherited, own))
    given = RECIPES[resolved["recipe"]].model_dump()[role]
    of_the_user = (*ROLES, "checkpoint_fractions")
    plain = {name: value for name, value in resolved.items() if name not in of_the_user}
    set_here = _merged(inherited, own)
    return _with_nested_runs(
        _with_small_sizes(_merged(given or plain, set_here), set_here), set_here
    )


def _merged(base: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` merged into `base`; a budget is replaced, because its units exclude each other."""
    if "budget" in fields:
        base = {name: value for name, value in base.items() if name != "budget"}
    return deep_merge(base, fields)


def earlier_runs(run: Pretrain) -> Iterator[tuple[tuple[str, ...], Pretrain]]:
    """Every run that a run builds on, directly or by others, after the ROLES that lead to it: the
    teacher of its start has ("init_from", "teacher")."""
    for role in ROLES:
        if other := getattr(run, role):
            yield (role,), other
            yield from (((role, *path), earlier) for path, earlier in earlier_runs(other))


def named_role(path: Sequence[str]) -> str:
    """`teacher of init_from` of the ROLES that lead to a run."""
    return " of ".join(reversed(path))
