"""The spec of a stage as MLflow's params, and back."""

import ast
from collections.abc import Mapping
from typing import Any


def flatten(spec: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one flat mapping with dotted names, for MLflow's params."""
    flat: dict[str, Any] = {}
    for name, value in spec.items():
        path = f"{prefix}{name}"
        flat.update(flatten(value, f"{path}.") if isinstance(value, Mapping) else {path: value})
    return flat


def unflatten(params: Mapping[str, str]) -> dict[str, Any]:
    """The inverse of `flatten`, from values that MLflow has turned into text.

    Text that reads as a Python literal (a number, a list, None) becomes that value.
    """
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
