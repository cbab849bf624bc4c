"""The evaluation protocol: as printed under tables, and as canonical JSON with a digest, to compare
results of different sources."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from harness.core.config import ConfigModel
from harness.experiment.arms import NO_SEARCH
from harness.experiment.evaluation import Evaluate
from harness.finetuning.protocol import Finetune
from harness.finetuning.search.space import (
    ADAPTATION_PREFIX,
    branches_of,
    shared,
    tried_text,
)
from harness.finetuning.search.sweep import Sweep
from harness.plan.differences import OF_FINETUNING, flat_fields, is_declared
from harness.plan.keys import without_nulls
from harness.plan.plan import Plan
from harness.tasks.perturbation import Perturbation

OTHER_TASKS = ("intermediate_tasks", "instruction_tuning", "preference_tuning")
"""Fields of `Evaluate` that train on other tasks, with settings of their own."""
PER_SEED = "per_seed"
OWN_LENGTH = "own_max_sequence_length"
"""Name of a sentence-transformers model's own length in a protocol."""


def protocol_of(plan: Plan) -> dict[str, object]:
    """Name to value of the settings of fine-tuning, of searched ones what is tried; then, for each
    arm that deviates from the base, the deviating fields."""
    evaluate, searches = _base(plan), list(plan.searches.values())
    protocol: dict[str, object] = {
        "adaptation": _shared_adaptation(plan),
        **evaluate.protocol.content,
    }
    if noise := evaluate.protocol.perturb.content:
        protocol["perturb"] = noise
    if index := evaluate.protocol.index:
        protocol["index"] = index.label
    if any(stage.spec.get("own_length") for stage in plan.stages.values()):
        length = evaluate.protocol.max_sequence_length
        protocol["max_sequence_length"] = f"{length}, or a sentence-transformers model's own"
    protocol["finetune"] = _settings(evaluate.finetune) | _searched(plan)
    protocol["sweep"] = searches[0].label if searches else plan.experiment.sweep.label
    if plan.experiment.seeds.in_worlds:
        protocol["world"] = "one for each pretraining seed"
    if evaluate.ensemble:
        protocol["ensemble"] = evaluate.ensemble.label
    return protocol | evaluate.other_tasks | _exceptions(plan)


def _settings(finetune: Finetune) -> dict[str, object]:
    """Name to value of the settings, with auxiliary objectives in words."""
    label = finetune.auxiliary.label if finetune.auxiliary else None
    return finetune.model_dump(exclude={"auxiliary"}) | ({"auxiliary": label} if label else {})


def _shared_adaptation(plan: Plan) -> str:
    """The adaptation of the base, and whether arms differ in it."""
    base = _adaptation(_base(plan), _base_search(plan))
    kinds = {arm.evaluate.adaptation.label for arm in plan.arms}
    return f"differs by arm ({base} unless stated)" if len(kinds) > 1 else base


def _searched(plan: Plan) -> dict[str, str]:
    """Fields of `evaluate.finetune` that every search selects, with what is tried: `searched (16 or
    32)`, of each arm if they differ."""
    found = {}
    arms = [arm for arm in plan.arms if arm.sweep.trials]
    for field in Finetune.model_fields if arms else ():
        tried = {arm.name: arm.searched(field) for arm in arms}
        texts = set(tried.values())
        if all(texts):
            each = "; ".join(f"{arm}: {text}" for arm, text in tried.items())
            found[field] = f"searched ({each if len(texts) > 1 else texts.pop()})"
    return found


def _base(plan: Plan) -> Evaluate:
    """`evaluate` of the experiment, with the settings that the sizes of its arms determine, where
    all arms without a value of their own agree; for training on other tasks, where all arms do."""
    base = plan.experiment.evaluate
    trained = [arm for arm in plan.arms if not arm.is_baseline] or plan.arms
    parts: dict[str, ConfigModel] = {"finetune": base.finetune, "protocol": base.protocol}
    for name, part in parts.items():
        shared: dict[str, Any] = {}
        for field in type(part).model_fields:
            path = f"evaluate.{name}.{field}"
            own = [getattr(arm.evaluate, name) for arm in trained if not is_declared(path, [arm])]
            values = {getattr(one, field) for one in own}
            shared |= {field: values.pop()} if len(values) == 1 else {}
        parts[name] = part.model_copy(update=shared)
    of_all = {name: [getattr(arm.evaluate, name) for arm in plan.arms] for name in OTHER_TASKS}
    agreed = {name: own[0] for name, own in of_all.items() if own.count(own[0]) == len(own)}
    return base.model_copy(update=parts | agreed)


def _exceptions(plan: Plan) -> dict[str, object]:
    declared = _base(plan)
    base = _flat(declared, _base_search(plan))
    of_all = {f"finetune.{field}" for field in _searched(plan)}
    exceptions: dict[str, object] = {}
    for arm in plan.arms:
        fields = _flat(arm.evaluate, arm.sweep)
        if not arm.sweep.trials and arm.evaluate.adaptation == declared.adaptation:
            del fields["adaptation"]
        for field in Finetune.model_fields if arm.sweep.trials else ():
            if text := arm.searched(field):
                fields[f"finetune.{field}"] = f"searched ({text})"
        changed = [
            f"{path} {_listed(value)}"
            for path, value in fields.items()
            if base.get(path) != value and not (arm.sweep.trials and path in of_all)
            if not (arm.is_baseline and f"evaluate.{path}" in OF_FINETUNING)
        ]
        if changed:
            exceptions[f"except {arm.name}"] = ", ".join(changed)
    return exceptions


def _listed(value: object) -> str:
    """The value of a field in a line of several."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _base_search(plan: Plan) -> Sweep:
    """The search of an arm with the adaptation of the base; without trials if there is none."""
    base, arms = plan.experiment.evaluate.adaptation, plan.arms
    own = [arm.sweep for arm in arms if arm.evaluate.adaptation == base and arm.sweep.trials]
    return next(iter(own), NO_SEARCH)


def _flat(evaluate: Evaluate, sweep: Sweep) -> dict[str, object]:
    """Dotted path to value; the adaptation is one field."""
    fields = {path.removeprefix("."): value for path, value in flat_fields("", evaluate)}
    rest = {path: value for path, value in fields.items() if not path.startswith("adaptation.")}
    return {"adaptation": _adaptation(evaluate, sweep), **rest}


def _adaptation(evaluate: Evaluate, sweep: Sweep) -> str:
    """`full or lora` if they are searched, else the adaptation: `lora, rank searched (4 or 8)`."""
    if names := branches_of(sweep.space):
        return " or ".join(names)
    adaptation, tried, unset = evaluate.adaptation, [], {}
    for name, found in shared(sweep.space).items():
        if name.startswith(ADAPTATION_PREFIX):
            field = name.removeprefix(ADAPTATION_PREFIX)
            unset[field] = type(adaptation).model_fields[field].default
            tried.append(f"{field} searched ({tried_text(found)})")
    return ", ".join([adaptation.model_copy(update=unset).label, *tried])


def protocol_text(
    evaluate: Mapping[str, Any],
    sweep: Mapping[str, Any],
    own_length: int | None = None,
    world: str | None = None,
) -> str:
    """The protocol of an arm as JSON with sorted names and no nulls.

    Args:
        evaluate: the arm's `Evaluate`, as plain data.
        sweep: the experiment's `Sweep`, as plain data.
        own_length: most tokens of a text on similarity tasks, where they are those of a
            sentence-transformers model (`Results.own_lengths`).
        world: of the experiment's `Seeds`.
    """
    names = ("adaptation", "protocol", "finetune", "ensemble")
    parts = {name: evaluate.get(name) for name in names}
    protocol = parts["protocol"] or {}
    if noise := protocol.get("perturb"):
        content = Perturbation.model_validate(noise).content or None
        parts["protocol"] = {**protocol, "perturb": content}
    if own_length:
        parts["protocol"] = {**(parts["protocol"] or {}), OWN_LENGTH: own_length}
    of_tasks = {name: value for name, value in sweep.items() if name != "pretrain"}
    searched = of_tasks if sweep.get("trials") else None
    by_seed = world if world == PER_SEED else None
    return json.dumps(without_nulls({**parts, "sweep": searched, "world": by_seed}), sort_keys=True)


def recorded_protocols(spec: Mapping[str, Any]) -> dict[str, str]:
    """Arm to its protocol, of a recorded experiment.

    Args:
        spec: `harness.store.recorded.RecordedExperiment.spec`.
    """
    experiment, lengths = spec["experiment"], spec.get("own_lengths") or {}
    sweep, world = experiment.get("sweep") or {}, (experiment.get("seeds") or {}).get("world")
    return {
        name: protocol_text(arm.get("evaluate", {}), sweep, lengths.get(name), world)
        for name, arm in spec["arms"].items()
    }


def protocol_digest(text: str) -> str:
    """16 hexadecimal digits that identify a protocol, independent of the spacing of its JSON.

    Raises:
        ValueError: the text is not a JSON object.
    """
    protocol = json.loads(text)
    if not isinstance(protocol, dict):
        raise ValueError(f"a protocol must be a JSON object, not {text[:40]!r}")
    plain = json.dumps(protocol, sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]
