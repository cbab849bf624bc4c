"""What the shell completes beside commands, options and paths."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from harness.experiment.declaration import Declaration


def experiments(incomplete: str) -> list[str]:
    """Experiment files in this folder and shipped experiments; none if a folder may be meant, for
    the shell completes paths where it gets nothing."""
    from harness.core.shipped import shipped_experiments

    names = [path.name for path in Path().iterdir() if path.name.startswith(incomplete)]
    if not incomplete or any(Path(name).is_dir() for name in names):
        return []
    files = [name for name in names if name.endswith((".yaml", ".yml"))]
    return sorted({*files, *shipped_experiments()})


def variants(context: typer.Context) -> list[str]:
    """The variants of the experiment typed so far."""
    declared = _declaration(context)
    return list(declared.source.variants) if declared and declared.source else []


def arms(context: typer.Context) -> list[str]:
    """The arms of the experiment typed so far."""
    declared = _declaration(context)
    return [arm.name for arm in declared.arms] if declared else []


def _declaration(context: typer.Context) -> "Declaration | None":
    from harness.experiment.declaration import load

    # Arguments before an option without its value, which is typed now, are not parsed.
    typed = [context.params.get("experiment"), *context.args]
    try:
        return load(Path(str(next(filter(None, typed), ""))))
    except (ValueError, OSError):
        return None
