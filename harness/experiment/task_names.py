"""Names in `evaluate.tasks` that the suite lacks: of another suite, or of a file."""

from pathlib import Path

from harness.core.config import near_name
from harness.core.files import user_path
from harness.tasks import SUITES
from harness.tasks.task import Suite

MAX_SUITES = 2
"""Suites named in a message."""


def elsewhere(name: str, suite: Suite) -> str:
    """What to do about a name that the suite lacks; empty if no suite and no file has it."""
    unknown = f"in {suite.name} the task {name!r} is not known"
    if Path(name).suffix and user_path(name).exists():
        form = f"{{{Path(name).name.split('.')[0]}: {{data: {name}}}}}"
        return f"{unknown}; tasks on files of your own are a mapping, such as {form}"
    holders = [one for one, held in SUITES.items() if name in held.tasks][:MAX_SUITES]
    if not holders:
        return ""
    counterparts = [one for one in suite.tasks if one.endswith(f"-{name}")]
    near = f"did you mean {counterparts[0]!r}? " if counterparts else near_name(name, suite.tasks)
    return (
        f"{unknown}; {near}it is a task of {' and '.join(holders)}: set evaluate.suite to "
        f"{holders[0]}, or evaluate.tasks to {{{name}: {{}}}} for it alone"
    )
