"""Differences between arms, condensed for display."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NESTED_RUNS = ("pretrain.init_from", "pretrain.teacher")
"""Nested runs. If an arm has none, their fields are not listed for the other arms."""

Differences = Mapping[str, Mapping[str, Any]]
"""Dotted path to {arm: value}."""


def condensed(differences: Differences) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(dotted path, {arm: value}) of the differences; a nested run that some arms lack is one."""
    for run in NESTED_RUNS:
        inside = [row for path, row in differences.items() if path.startswith(f"{run}.")]
        without = [arm for arm in (inside[0] if inside else ()) if _is_absent(inside, arm)]
        if without:
            yield run, {arm: None if arm in without else "another run" for arm in inside[0]}
            differences = {p: row for p, row in differences.items() if not p.startswith(run)}
    yield from differences.items()


def _is_absent(rows: Sequence[Mapping[str, Any]], arm: str) -> bool:
    return all(row[arm] is None for row in rows)


def differences_from_first(
    differences: Differences, arms: Sequence[str]
) -> dict[str, list[tuple[str, Any]]]:
    """Arm to (dotted path, value) of the fields in which it differs from the first arm."""
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
