"""The state of every stage of a plan: from the store, and from the folders of unfinished stages."""

from collections.abc import Mapping

import pandas as pd

from harness.execution.job import Workspace
from harness.execution.progress import figures_line
from harness.execution.time_left import STAGE_SECONDS
from harness.plan.plan import Plan, Stage
from harness.store.artifacts import folder_size, local_size
from harness.store.store import StageResult, Store

STATES = ("done", "running", "interrupted", "failed", "blocked", "waiting")
"""`interrupted`: it resumes with the next run; `blocked`: it needs the result of a failed stage."""
COLUMNS = ["key", "kind", "label", "state", "detail", "seconds"]


def stage_states(plan: Plan, store: Store, finished: Mapping[str, StageResult]) -> pd.DataFrame:
    """One row per stage: key, kind, label, state (one of STATES), detail (the error, the progress,
    or the failed stage that it needs) and seconds (of a finished stage, else NaN).

    Args:
        finished: key to result of the finished stages of the plan.
    """
    workspace = Workspace(store.root)
    found: dict[str, tuple[str, str]] = {}
    ended = [key for key in plan.stages if key not in finished and workspace.result(key).exists()]
    finished = {**finished, **store.finished(ended)} if ended else finished  # recorded since then
    for key, stage in plan.stages.items():
        state = ("done", "") if key in finished else _unfinished(stage, plan, workspace, found)
        found[key] = state
    rows = [
        (key, one.kind, one.label, *found[key], _seconds(finished.get(key)))
        for key, one in plan.stages.items()
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"seconds": float})


def _unfinished(
    stage: Stage, plan: Plan, workspace: Workspace, found: Mapping[str, tuple[str, str]]
) -> tuple[str, str]:
    progress = workspace.progress(stage.key)
    if workspace.is_leased(stage.key):
        return "running", figures_line(progress)
    if error := workspace.error(stage.key):
        return "failed", error
    for parent in stage.parents.values():
        if found[parent][0] in ("failed", "blocked"):
            return "blocked", f"needs {plan.stages[parent].kind} {plan.stages[parent].label}"
    if workspace.result(stage.key).exists():
        is_lost = workspace.is_cleaned(stage.key)  # from the store, so that it is computed again
        return ("waiting", "") if is_lost else ("interrupted", "computed, not recorded yet")
    return ("interrupted", figures_line(progress)) if progress else ("waiting", "")


def _seconds(result: StageResult | None) -> float | None:
    return result.metrics.get(STAGE_SECONDS, result.metrics.get("seconds")) if result else None


def disk_bytes(plan: Plan, store: Store, finished: Mapping[str, StageResult]) -> tuple[int, int]:
    """Bytes on this machine of the finished stages of a plan, and of its unfinished ones; the files
    of a server do not count."""
    workspace = Workspace(store.root)
    done = sum(local_size(one.artifact_uri) for one in finished.values())
    folders = [workspace.folder(key) for key in plan.stages if key not in finished]
    return done, sum(map(folder_size, folders))
