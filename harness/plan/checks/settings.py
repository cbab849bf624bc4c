"""Fine-tuning settings that nobody chose, and pretraining that only some arms have."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from harness.experiment.arms import Arm
from harness.experiment.recipe_defaults import is_small
from harness.finetuning.search.space import parameters
from harness.models.checkpoints import files
from harness.plan.differences import flat_fields, is_declared
from harness.plan.plan import Plan
from harness.pretraining.recipes import small_sizes

SETTINGS = tuple(path for path in small_sizes.IMPLIED if path.startswith("evaluate."))
"""Fields of `evaluate` that the size of a network determines where they are not set."""
LEARNING_RATE = "evaluate.finetune.learning_rate"


def unlike_defaults(plan: Plan) -> Iterator[str]:
    """Settings of fine-tuning that differ between small networks and others, such as published
    checkpoints, although no axis sets them."""
    trained = [arm for arm in plan.arms if _is_finetuned(arm)]
    small = [arm for arm in trained if is_small(arm.pretrain)]
    others = [arm for arm in trained if not is_small(arm.pretrain)]
    if not (small and others):
        return
    paths = [path for path in SETTINGS if _is_open(plan, path, trained)]
    if found := [text for path in paths if (text := _both(path, small, others))]:
        yield (
            f"{_named(small)} and {_named(others)} are fine-tuned with settings that nobody set "
            f"and that differ by size: {', '.join(found)}; set them for all arms, or search them "
            "with a sweep"
        )


def _both(path: str, small: Sequence[Arm], others: Sequence[Arm]) -> str:
    """`finetune.epochs 6 and 3`; empty if the arms agree."""
    values = [dict.fromkeys(str(_value(path, arm)) for arm in group) for group in (small, others)]
    if values[0].keys() == values[1].keys():
        return ""
    return f"{path.removeprefix('evaluate.')} {' and '.join('/'.join(one) for one in values)}"


def small_checkpoints(plan: Plan) -> Iterator[str]:
    """Checkpoints as small as the networks that have settings of their own, with the settings of
    published sizes; a line for all arms of which the same is to be said."""
    alike: dict[tuple[int, str], list[Arm]] = {}
    for arm in plan.arms:
        if not (_is_finetuned(arm) and 0 < (width := _width(arm)) < small_sizes.PUBLISHED_WIDTH):
            continue
        size = arm.pretrain.size.model_copy(update={"hidden_size": width})
        found = [
            f"{part}.{name} {_value(path, arm)} instead of {value}"
            for part, fields in small_sizes.evaluation_settings(size).items()
            for name, value in fields.items()
            if _is_open(plan, path := f"evaluate.{part}.{name}", [arm])
            and _value(path, arm) != value
        ]
        if found:
            alike.setdefault((width, ", ".join(found)), []).append(arm)
    for (width, settings), arms in alike.items():
        verbs = ("checkpoint has", "is") if len(arms) == 1 else ("checkpoints have", "are")
        yield (
            f"{_named(arms)}: the {verbs[0]} a hidden size of {width}, but {verbs[1]} fine-tuned "
            f"with the settings of published sizes where none are set: {settings}, as a "
            "network of this size from a recipe gets; set them, or search them with a sweep"
        )


def _width(arm: Arm) -> int:
    """The hidden size of a checkpoint on this machine; 0 if unknown, and for other arms."""
    model = arm.pretrain.model
    folder = files.found(model.checkpoint, model.revision) if model.checkpoint else None
    if folder is None or files.problem(folder):
        return 0
    return files.hidden_size(files.read_config(folder))


def shared_learning_rate(plan: Plan) -> Iterator[str]:
    """Arms with different adaptations and one learning rate, which neither a sweep nor an axis has
    chosen."""
    if _is_searched(plan, LEARNING_RATE) or is_declared(LEARNING_RATE, plan.arms):
        return
    groups: dict[float, list[Arm]] = defaultdict(list)
    for arm in plan.arms:
        if _is_finetuned(arm):
            groups[arm.evaluate.finetune.learning_rate].append(arm)
    for rate, arms in groups.items():
        kinds = dict.fromkeys(arm.evaluate.adaptation.kind for arm in arms)
        if len(kinds) > 1:
            yield (
                f"{_named(arms)} differ in adaptation ({', '.join(kinds)}) and share the untuned "
                f"learning rate {rate:g}: methods that train few parameters need higher ones, so "
                "a difference may be one of the learning rate; search it with a sweep, or set it "
                "for each arm"
            )


def more_pretraining(plan: Plan) -> Iterator[str]:
    """Arms whose continued pretraining is compute that others do not have."""
    tokens = {
        arm.name: cost.tokens if (cost := plan.total_continued_cost(arm.name)) else 0
        for arm in plan.arms
    }
    if len(set(tokens.values())) > 1:
        shown = (
            f"{arm} {'unknown' if number is None else f'{number:,}'}"
            for arm, number in tokens.items()
        )
        yield (
            "Arms differ in continued pretraining, and so in pretraining compute, which may be the "
            f"reason for a difference; tokens of continued pretraining: {', '.join(shown)}"
        )


def _is_finetuned(arm: Arm) -> bool:
    """Whether an arm is trained on tasks; baselines are not, and similarity tasks have no train
    set."""
    evaluate, is_baseline = arm.evaluate, arm.pretrain.model.facts.kind == "baseline"
    has_train = any(task.train for task in evaluate.chosen.values())
    trains = evaluate.adaptation.trains and has_train
    return not is_baseline and (trains or bool(evaluate.earlier_tasks))


def _is_open(plan: Plan, path: str, arms: Sequence[Arm]) -> bool:
    """Whether neither the experiment nor an axis sets a field of `evaluate`, and no sweep searches
    it."""
    _, part, name = path.split(".")
    given = name in getattr(plan.experiment.evaluate, part).model_fields_set
    return not (given or is_declared(path, arms) or _is_searched(plan, path))


def _is_searched(plan: Plan, path: str) -> bool:
    sweep, name = plan.experiment.sweep, path.rpartition(".")[2]
    return bool(sweep.trials) and any(
        name == found.rpartition(".")[2] for found in parameters(sweep.space)
    )


def _value(path: str, arm: Arm) -> Any:
    return dict(flat_fields("evaluate", arm.evaluate))[path]


def _named(arms: Sequence[Arm]) -> str:
    return ", ".join(arm.name for arm in arms)
