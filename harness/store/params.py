"""Nested values as MLflow's params, which are flat text of limited length, and back."""

import ast
import re
from collections.abc import Mapping
from typing import Any

MAX_PARAM = 6000
"""Characters of a param, beyond which MLflow cuts it silently."""
MAX_TAG = 8000
"""Characters of a tag, beyond which MLflow cuts it silently."""
NAME = re.compile(r"[\w. :-]{1,120}")
"""A name that can be a part of the name of a param."""
PART = ":part"
"""Follows the name of a param that holds the next part of a long one."""


def split_params(flat: Mapping[str, Any]) -> dict[str, str]:
    """Params as text, in parts of at most MAX_PARAM characters."""
    split = {}
    for name, value in flat.items():
        text = str(value)
        for number, first in enumerate(range(0, max(1, len(text)), MAX_PARAM)):
            split[f"{name}{PART}{number}" if number else name] = text[first : first + MAX_PARAM]
    return split


def join_params(params: Mapping[str, str]) -> dict[str, str]:
    """The inverse of `split_params`."""
    joined = {name: text for name, text in params.items() if PART not in name}
    for name in joined:
        number = 1
        while part := params.get(f"{name}{PART}{number}"):
            joined[name], number = joined[name] + part, number + 1
    return joined


def flatten(spec: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one flat mapping with dotted names, for MLflow's params. A mapping with
    names that MLflow refuses, as columns of a file may have, is one value."""
    flat: dict[str, Any] = {}
    for name, value in spec.items():
        path = f"{prefix}{name}"
        is_nested = isinstance(value, Mapping) and all(NAME.fullmatch(str(one)) for one in value)
        flat.update(flatten(value, f"{path}.") if is_nested else {path: value})
    return flat


def unflatten(params: Mapping[str, str]) -> dict[str, Any]:
    """The inverse of `flatten`, from values that MLflow has turned into text.

    Text that reads as a Python literal (a number, a list, None) becomes that value, except the keys
    of `parents`, whose digits may be a number's.
    """
    tree: dict[str, Any] = {}
    for path, text in params.items():
        *parents, name = path.split(".")
        branch = tree
        for parent in parents:
            branch = branch.setdefault(parent, {})
        try:
            branch[name] = text if parents[:1] == ["parents"] else ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError):
            branch[name] = text
    return tree


def allowed_name(name: str) -> str:
    """The name of a metric, with `_` for characters that MLflow refuses."""
    return re.sub(r"[^\w./ :-]", "_", name)


def cut(text: str, limit: int) -> str:
    """`text`, visibly cut to `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
