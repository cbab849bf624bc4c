"""What sets arms apart, made short enough to read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

WHOLE = ("pretrain.start_from", "pretrain.teacher")
"""Runs within a run: where an arm has none, no field of another's is worth a line."""

Differences = Mapping[str, Mapping[str, Any]]
"""Dotted path to {arm: value}."""


def condensed(differences: Differences) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The differences; of a run within the run that some arms lack, only that they lack it."""
    for whole in WHOLE:
        inside = [row for path, row in differences.items() if path.startswith(f"{whole}.")]
        lack = [arm for arm in (inside[0] if inside else ()) if _nothing(inside, arm)]
        if lack:
            yield whole, {arm: None if arm in lack else "another run" for arm in inside[0]}
            differences = {p: row for p, row in differences.items() if not p.startswith(whole)}
    yield from differences.items()


def _nothing(rows: Sequence[Mapping[str, Any]], arm: str) -> bool:
    return all(row[arm] is None for row in rows)


def apart_from_the_first(
    differences: Differences, arms: Sequence[str]
) -> dict[str, list[tuple[str, Any]]]:
    """Arm to (path, value) of the fields in which it differs from the first arm."""
    first, *others = arms
    rows = list(condensed(differences))
    return {
        arm: [
            (path, values[arm])
            for path, values in rows
            if values[arm] != values[first] and values[arm] is not None
        ]
        for arm in others
    }
