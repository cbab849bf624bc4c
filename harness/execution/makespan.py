"""The time that stages take together, on workers of which each computes one at a time."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import count

from harness.plan.plan import Stage


def makespan(
    running: Iterable[str],
    waiting: Sequence[Stage],
    seconds: Mapping[str, float],
    idle: Iterable[float],
    widths: Mapping[str, int] | None = None,
) -> float:
    """Seconds to the end of the last stage if free workers take the most expensive stage whose
    parents have ended, as in a run (list scheduling, Graham 1969).

    Args:
        running: keys of running stages.
        waiting: stages that have not begun.
        seconds: key to what each stage still takes; parents without have ended.
        idle: the times from which further workers are free.
        widths: key to the workers that compute a stage together, if not 1. While too few are free
            for the next stage, none starts.
    """
    order = count()  # of equals
    wide = widths or {}
    missing = {one.key: sum(p in seconds for p in one.parents.values()) for one in waiting}
    children = defaultdict(list)
    for one in waiting:
        for parent in one.parents.values():
            children[parent].append(one)
    ready = [(-one.flops, next(order), one.key) for one in waiting if not missing[one.key]]
    heapify(ready)
    events = [(seconds[key], next(order), key) for key in running]
    events += [(time, next(order), "") for time in idle] if waiting else []
    heapify(events)
    now, free, end = 0.0, 0, 0.0
    while events:
        now, _, key = heappop(events)
        free += wide.get(key, 1)
        if key:
            end = now
        for child in children.pop(key, ()):
            missing[child.key] -= 1
            if not missing[child.key]:
                heappush(ready, (-child.flops, next(order), child.key))
        while ready and wide.get(ready[0][2], 1) <= free:
            _, _, chosen = heappop(ready)
            free -= wide.get(chosen, 1)
            heappush(events, (now + seconds[chosen], next(order), chosen))
    return end


def ideal_makespan(
    stages: Iterable[Stage],
    seconds: Mapping[str, float],
    workers: int,
    widths: Mapping[str, int] | None = None,
) -> dict[str, float]:
    """Lower bounds in seconds of the time that any order of the stages takes: all work spread over
    the workers, and the longest chain of stages (critical path).

    Args:
        stages: parents before children; those not among them have ended.
        seconds, widths: as of `makespan`.
    """
    ends: dict[str, float] = {}
    work = 0.0
    for stage in stages:
        start = max((ends.get(parent, 0.0) for parent in stage.parents.values()), default=0.0)
        ends[stage.key] = start + seconds[stage.key]
        work += seconds[stage.key] * (widths or {}).get(stage.key, 1)
    return {"work": work / workers, "critical_path": max(ends.values())}
