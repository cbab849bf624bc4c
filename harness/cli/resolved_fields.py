"""The output of `harness plan --resolved`: fields with their origins."""

import json
from collections.abc import Sequence

from rich.console import Console

from harness.experiment.declaration import Declaration
from harness.experiment.resolution import ResolvedField, arm_fields, experiment_fields


def print_resolved(declaration: Declaration, console: Console) -> None:
    """Prints the fields of the experiment, those that all arms share, and those of each arm."""
    arms = {arm.name: arm_fields(declaration, arm) for arm in declaration.arms}
    shared = set.intersection(*(set(map(_key, fields)) for fields in arms.values()))
    first = next(iter(arms.values()))
    _print("experiment", experiment_fields(declaration), console)
    _print("every arm", [field for field in first if _key(field) in shared], console)
    for name, fields in arms.items():
        _print(f"arm {name}", [field for field in fields if _key(field) not in shared], console)


def _print(title: str, fields: Sequence[ResolvedField], console: Console) -> None:
    if not fields:
        return
    lines = [(f"{f.path}: {json.dumps(f.value, ensure_ascii=False)}", f.origin) for f in fields]
    width = min(max(len(text) for text, _ in lines), 72)
    console.print(f"# {title}", markup=False)
    for text, origin in lines:
        console.print(f"{text:{width}}  # {origin}", markup=False)


def _key(field: ResolvedField) -> tuple[str, str, str]:
    return field.path, json.dumps(field.value, sort_keys=True), field.origin
