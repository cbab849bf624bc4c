"""The protocol as canonical JSON with a digest, to compare results of different sources."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def protocol_text(evaluate: Mapping[str, Any], sweep: Mapping[str, Any]) -> str:
    """The protocol of an arm as JSON with sorted names and no nulls.

    Args:
        evaluate: the arm's `Evaluate`, as plain data.
        sweep: the experiment's `Sweep`, as plain data.
    """
    parts = {name: evaluate.get(name) for name in ("adaptation", "protocol", "finetune")}
    searched = sweep if sweep.get("trials") else None
    return json.dumps(without_nulls({**parts, "sweep": searched}), sort_keys=True)


def protocol_digest(text: str) -> str:
    """16 hexadecimal digits that identify a protocol, independent of the spacing of its JSON.

    Raises:
        ValueError: the text is not a JSON object.
    """
    protocol = json.loads(text)
    if not isinstance(protocol, dict):
        raise ValueError(f"a protocol must be a JSON object, not {text[:40]!r}")
    plain = json.dumps(protocol, sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def without_nulls(value: Any) -> Any:
    """Plain data without null fields, at any depth."""
    if isinstance(value, Mapping):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, (list, tuple)) else value
