"""Arms whose results are the same although they differ in declared fields."""

from collections import defaultdict
from collections.abc import Iterator

from harness.analysis.results import Results
from harness.experiment.arms import Arm

LOSSES = ("train_loss", "validation_loss")
SHOWN_FIELDS = 3


def equal_arms(results: Results) -> Iterator[str]:
    """A sentence on arms with the same losses and scores in all runs: what differs between them may
    have had no effect, such as a setting that the code of a plug-in does not read. Baselines and
    networks without pretraining are left out, as few fields can change them."""
    arms = defaultdict(list)
    for arm in results.plan.arms:
        if figures := _figures(results, arm):
            arms[figures].append(arm.name)
    for equal in arms.values():
        if len(equal) > 1 and (fields := _fields(results, equal)):
            yield (
                f"{' and '.join(equal)} have the same losses and scores in all runs, to the last "
                f"digit, although they differ in {fields}: check that this has an effect."
            )


def _figures(results: Results, arm: Arm) -> frozenset[tuple[object, str, float | None]]:
    """(run, name, value) of all losses and scores; empty if a run is unfinished or none is
    trained."""
    if arm.pretrain.model.facts.kind == "baseline" or arm.pretrain.budget.is_zero:
        return frozenset()
    plan, keys = results.plan, {}
    for (name, seed), key in plan.pretrain_keys.items():
        if name == arm.name:
            keys["", seed, 0] = key
    for run in results.finetune_runs:
        if run.arm == arm.name:
            keys[run.task, run.pretrain_seed, run.finetune_seed] = run.key
    if any(key not in results.finished for key in keys.values()):
        return frozenset()
    found = frozenset(
        (run, name, value)
        for run, key in keys.items()
        for name, value in results.finished[key].metrics.items()
        if name in LOSSES or "/" in name
    )
    return found if any(name in LOSSES for _, name, _ in found) else frozenset()


def _fields(results: Results, arms: list[str]) -> str:
    """The fields in which some of the arms differ."""
    differing = [
        path
        for path, values in results.plan.differences.items()
        if len({repr(values[arm]) for arm in arms}) > 1
    ]
    rest = len(differing) - SHOWN_FIELDS
    more = f" and {rest} more fields" if rest > 0 else ""
    return ", ".join(differing[:SHOWN_FIELDS]) + more
