"""What a stage was told as MLflow's params, and back."""

import ast
from collections.abc import Mapping
from typing import Any


def flatten(spec: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as dotted names, for MLflow's params."""
    flat: dict[str, Any] = {}
    for name, value in spec.items():
        path = f"{prefix}{name}"
        flat.update(flatten(value, f"{path}.") if isinstance(value, Mapping) else {path: value})
    return flat


def unflatten(params: Mapping[str, str]) -> dict[str, Any]:
    """What `flatten` made dotted names and MLflow texts of; a text that looks like a number, or
    like a list, becomes one."""
    tree: dict[str, Any] = {}
    for path, text in params.items():
        *parents, name = path.split(".")
        branch = tree
        for parent in parents:
            branch = branch.setdefault(parent, {})
        try:
            branch[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            branch[name] = text
    return tree
