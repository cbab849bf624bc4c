"""The order in which ready stages run."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from heapq import heapify, heappop, heappush

from harness.plan.plan import Stage


def scouts(stages: Mapping[str, Stage], todo: Container[str], kinds: Container[str]) -> set[str]:
    """Of each of some kinds, the stage before which the fewest FLOPs must be computed, the most
    expensive of equals, with all stages before it.

    Args:
        stages: key to stage, parents before children.
        todo: keys of unfinished stages.
        kinds: kinds of unknown duration.
    """
    chains: dict[str, set[str]] = {}
    best: dict[str, tuple[float, int, float, str]] = {}
    for key, stage in stages.items():
        if key in todo:
            parents = [chains[one] for one in stage.parents.values() if one in chains]
            before = set[str]().union(*parents)
            chains[key] = {*before, key}
            if stage.kind in kinds and stage.flops:
                flops = sum(stages[one].flops for one in before)
                rank = (flops, len(before), -stage.flops, key)
                best[stage.kind] = min(rank, best.get(stage.kind, rank))
    return set[str]().union(*(chains[key] for *_, key in best.values()))


class ReadyQueue:
    """Waiting stages, of which those with finished parents are taken by priority: first the way to
    kinds of unknown duration, so that the time left is known soon, then what the next look needs,
    then the most expensive.

    A stage costs O(log n), however many wait.
    """

    def __init__(
        self,
        stages: Mapping[str, Stage],
        todo: Iterable[Stage],
        finished: Container[str],
        looks: Mapping[str, int] | None = None,
    ) -> None:
        """A queue of the stages `todo`.

        Args:
            stages: key to stage, parents before children.
            finished: keys of finished stages, which the caller keeps up to date.
            looks: result of `harness.plan.first_seeds.look_of_stages`.
        """
        self._stages, self._finished, self._looks = stages, finished, looks or {}
        self._position = {key: place for place, key in enumerate(stages)}
        self._children: dict[str, dict[str, None]] = defaultdict(dict)
        self._unknown: set[str] | None = None
        self._first: set[str] = set()
        self._ready: list[tuple[bool, int, float, int, str]] = []
        self.waiting: set[str] = set()
        """Stages to compute that are neither running nor ended, ready or not. The caller takes out
        what it runs."""
        self.kinds: set[str] = set()
        """Kinds of the stages that compute something."""
        for stage in todo:
            if stage.flops:
                self.kinds.add(stage.kind)
            self.add(stage.key)

    def add(self, key: str) -> None:
        """Adds a stage, new or to be computed again."""
        self.waiting.add(key)
        for parent in self._stages[key].parents.values():
            self._children[parent][key] = None
        self.push(key)

    def finish(self, key: str) -> None:
        """Makes the children of a finished stage ready if it was the last of their parents."""
        for child in self._children.get(key, ()):
            self.push(child)

    def push(self, key: str) -> None:
        """Makes a waiting stage ready if its parents are finished."""
        parents = self._stages[key].parents.values()
        if key in self.waiting and all(parent in self._finished for parent in parents):
            heappush(self._ready, self._rank(key))

    def fail(self, key: str) -> None:
        """Drops the stages that need a failed one."""
        self._unknown = None  # it may have been on the way to a kind
        for child in self._children.get(key, ()):
            if child in self.waiting:
                self.waiting.remove(child)
                self.fail(child)

    def put_first(self, unknown: set[str], running: set[str]) -> None:
        """Puts the way to some kinds first (see `scouts`), which is chosen anew if they change.

        Args:
            running: keys of running stages, which may be on the way.
        """
        if unknown != self._unknown:
            self._unknown, todo = unknown, self.waiting | running
            self._first = scouts(self._stages, todo, unknown) if unknown else set()
            self._ready = [self._rank(key) for *_, key in self._ready]
            heapify(self._ready)

    def pop(self) -> str | None:
        """The first ready stage, which remains among the waiting ones; null if none is ready."""
        while self._ready:
            *_, key = heappop(self._ready)
            if key in self.waiting:
                return key
        return None

    def _rank(self, key: str) -> tuple[bool, int, float, int, str]:
        flops, is_scout = self._stages[key].flops, key in self._first
        look, cost = self._looks.get(key, 0), flops if is_scout else -flops
        return not is_scout, look, cost, self._position[key], key
