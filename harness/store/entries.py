"""Runs of MLflow as the store reads them: their tags, and a checksum of what they say."""

import hashlib
import json
import math
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.store.params import join_params, split_params

KEY, KIND, LABEL, DIGEST = "harness.key", "harness.kind", "harness.label", "harness.digest"
MADE_WITH = "harness.made_with"
ADOPTED = "harness.adopted"
LEFT_OUT = "harness.left_out"
NAME, SUITE = "harness.experiment", "harness.suite"
IMPORT = "harness.import"
REPLACED = "harness.replaced_sources"
"""Tag of an import with the sources whose earlier results no longer count, one a line; in parts, if
it is long."""
CHECKSUM = "harness.checksum"
"""Tag with the checksum of a run; runs of earlier versions have none."""
OWN = "harness."
"""Begin of the names of the tags that the checksum covers: users and MLflow add others."""


@dataclass(frozen=True)
class Entry:
    """A finished run."""

    run_id: str
    start_time: int
    end_time: int
    """Milliseconds since 1970."""
    artifact_uri: str
    tags: Mapping[str, str]
    metrics: Mapping[str, float]

    @property
    def is_intact(self) -> bool:
        """Whether the run is as it was recorded, as far as its version can say."""
        texts = (self.artifact_uri, *self.tags, *self.tags.values(), *self.metrics)
        times = self.start_time, self.end_time
        if not (_are(str, texts) and _are(int, times) and _are(float, self.metrics.values())):
            return False
        if KEY in self.tags and not {KIND, DIGEST} <= self.tags.keys():
            return False
        known = self.tags.get(CHECKSUM)
        return known is None or known == checksum(self.tags, self.metrics, self.start_time)

    @property
    def replaced(self) -> frozenset[str]:
        """The sources whose results no longer count where they were imported before."""
        texts = {str(name): str(text) for name, text in self.tags.items()}  # if it is damaged
        parts = {name: text for name, text in texts.items() if name.startswith(REPLACED)}
        return frozenset(join_params(parts).get(REPLACED, "").splitlines())


def replaced_tags(sources: Collection[str]) -> dict[str, str]:
    """The tags of an import that replaces earlier results; none without sources."""
    return split_params({REPLACED: "\n".join(sorted(sources))} if sources else {})


def entry_of(run: Any) -> Entry:
    """The entry of a run as MLflow's client returns it."""
    return Entry(
        run_id=run.info.run_id,
        start_time=run.info.start_time,
        end_time=run.info.end_time,
        artifact_uri=run.info.artifact_uri,
        tags=run.data.tags,
        metrics=run.data.metrics,
    )


def _are(kind: type, values: Iterable[object]) -> bool:
    return all(isinstance(value, kind) for value in values)


def checksum(tags: Mapping[str, str], metrics: Mapping[str, float], start_time: int) -> str:
    """A digest of what a run says, which is the same before and after MLflow has stored it.

    Args:
        start_time: milliseconds since 1970, by which the latest of several runs is found.
    """
    own = {k: v for k, v in tags.items() if k.startswith(OWN) and k != CHECKSUM}
    values = {name: _stored(float(value)) for name, value in metrics.items()}
    content = json.dumps([own, values, start_time], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def _stored(value: float) -> float:
    """The number that MLflow returns: the largest for infinity, and 0 for -0."""
    return math.copysign(sys.float_info.max, value) if math.isinf(value) else value + 0.0


@dataclass(frozen=True)
class TrackedRun:
    """A run of a study's MLflow experiment; see `harness.execution.tracker`."""

    run_id: str
    status: str
    """MLflow's: RUNNING, FINISHED, FAILED or KILLED."""
    tags: Mapping[str, str]


class Point(NamedTuple):
    """A value of a metric."""

    name: str
    value: float
    time: int
    """Milliseconds since 1970."""
    step: int
