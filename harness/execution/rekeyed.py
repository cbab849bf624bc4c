"""Stages that were finished before a change gave them new keys: what changed, what that costs, and
how their results are taken over nonetheless."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.execution.time_left import STAGE_SECONDS
from harness.plan.arm_stages import arm_stages
from harness.plan.differences import shown
from harness.plan.keys import without_nulls
from harness.plan.plan import Plan, Stage
from harness.store.params import flatten
from harness.store.store import StageResult, Store

SEEDS = ("pretrain_seed", "finetune_seed")
PLACE = ("arm", "kind", "task", "probe", "trial", "pretrain_fraction", *SEEDS)
"""Tags of a run in a study's MLflow experiment that say which stage of which arm it is."""
UNRECORDED = "the version of the stage"
"""What changed if no recorded field did."""
DIGEST = "sha256:"


@dataclass(frozen=True)
class Rekeyed:
    """An unfinished stage that was finished with another key."""

    stage: Stage
    earlier: StageResult
    """Of the same kind, arm, task and seeds in the latest run of the experiment."""
    changes: tuple[str, ...]
    """`pretrain.batch_size 32 -> 64`; empty if only stages before it have changed."""

    @property
    def seconds(self) -> float:
        """Seconds that it took."""
        return float(
            self.earlier.metrics.get(STAGE_SECONDS, self.earlier.metrics.get("seconds", 0))
        )


def rekeyed(plan: Plan, store: Store, finished: Mapping[str, StageResult]) -> list[Rekeyed]:
    """The unfinished stages of a plan that were finished before a change, parents before children.

    Args:
        finished: key to result of all finished stages of the store.
    """
    if not finished or plan.stages.keys() <= finished.keys():
        return []
    earlier: dict[tuple[str, ...], StageResult] = {}
    for run in store.tracked(plan.experiment.name):
        result = finished.get(run.tags.get("key", ""))
        if result and result.key not in plan.stages:
            place = _place(run.tags)
            earlier[place] = max(earlier.get(place, result), result, key=lambda one: one.recorded)
    found: dict[str, tuple[Stage, StageResult]] = {}
    for one in arm_stages(plan) if earlier else ():
        result = earlier.get(_place({**one.tags, "arm": one.arm}))
        if result and one.stage.key not in finished:
            found.setdefault(one.stage.key, (one.stage, result))
    specs = store.specs([result for _, result in found.values()])
    return [
        Rekeyed(stage, result, tuple(_changes(specs[result.key], stage)))
        for stage, result in (found[key] for key in plan.stages if key in found)
    ]


def _place(tags: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(tags.get(name, "") for name in PLACE)


def _changes(earlier: Mapping[str, object], stage: Stage) -> Iterator[str]:
    """The fields of a stage itself that differ from those of an earlier one."""
    old, new = (
        flatten(without_nulls({k: v for k, v in spec.items() if k != "parents"}))
        for spec in (earlier, stage.spec)
    )
    differ = [path for path in dict.fromkeys([*old, *new]) if old.get(path) != new.get(path)]
    for path in differ:
        if path == "fingerprint":
            yield f"content of the data {_short(old.get(path))} -> {_short(new.get(path))}"
        else:
            yield f"{path} {shown(old.get(path))} -> {shown(new.get(path))}"
    if not differ and earlier.get("parents", {}) == stage.parents:
        yield UNRECORDED


def _short(fingerprint: object) -> str:
    """A digest by its first characters; a commit of the Hub as it is."""
    text = str(fingerprint)
    return text[: len(DIGEST) + 8] if text.startswith(DIGEST) else text


def rekeyed_lines(found: Sequence[Rekeyed]) -> list[str]:
    """A line on each set of changes with its stages, and one on those that only come after them."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in found:
        groups[one.changes].append(one.stage.kind)
    after = groups.pop((), [])
    lines = [f"{'; '.join(changes)}: {_kinds(kinds)}" for changes, kinds in groups.items()]
    return [*lines, *([f"stages after these: {_kinds(after)}"] if after else [])]


def _kinds(kinds: Sequence[str]) -> str:
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def adopt(found: Sequence[Rekeyed], store: Store, reason: str) -> None:
    """Records the earlier results as those of the stages, with the changes and the reason.

    Args:
        found: parents before children.
        reason: why the changes do not matter.

    Raises:
        ValueError: files of an earlier result are damaged; those before it are recorded.
    """
    changes = "; ".join(dict.fromkeys(change for one in found for change in one.changes))
    for one in found:
        own = "; ".join(one.changes) or f"after a change of {changes}"
        store.record(
            one.stage.key,
            one.stage.kind,
            one.stage.label,
            {**one.stage.spec, "parents": one.stage.parents},
            one.earlier.metrics,
            store.files(one.earlier),
            made_with=one.earlier.made_with,
            adopted=f"{own}: {reason}",
            left_out=one.earlier.left_out,
        )
