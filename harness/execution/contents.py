"""The finished stages of a store: how many, how large, and how long they took."""

from collections.abc import Iterable
from dataclasses import dataclass

from harness.execution.time_left import STAGE_SECONDS
from harness.store.artifacts import local_size
from harness.store.store import StageResult


@dataclass
class KindSummary:
    """The finished stages of one kind."""

    kind: str
    number: int = 0
    num_bytes: int = 0
    """On this machine; the files of a server do not count."""
    seconds: float = 0.0
    """Of computing."""


def by_kind(results: Iterable[StageResult]) -> list[KindSummary]:
    """Finished stages by kind, the largest first."""
    kinds: dict[str, KindSummary] = {}
    for one in results:
        kind = kinds.setdefault(one.kind, KindSummary(one.kind))
        kind.number += 1
        kind.num_bytes += local_size(one.artifact_uri)
        kind.seconds += one.metrics.get(STAGE_SECONDS, one.metrics.get("seconds", 0.0))
    return sorted(kinds.values(), key=lambda one: (-one.num_bytes, one.kind))
