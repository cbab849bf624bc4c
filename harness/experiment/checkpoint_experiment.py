"""The evaluation of an external checkpoint as an experiment with one arm (`harness evaluate`)."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.experiment.declaration import Declaration, read
from harness.experiment.source import DeclarationError
from harness.models.checkpoints import files

MAX_NAME = 64
"""Maximum length of the name of an experiment."""
COMMIT = re.compile(r"[0-9a-f]{40}")


def load_evaluation(
    model: str,
    suite: str,
    overrides: Sequence[str] = (),
    *,
    seeds: int = 3,
    tasks: Sequence[str] = (),
    adaptation: str = "full",
    revision: str | None = None,
    name: str | None = None,
) -> Declaration:
    """Declares the evaluation of a checkpoint, whose files are downloaded if needed.

    An axis with one value names the arm after the model; the name of the experiment also contains
    the suite.

    Args:
        model: a folder, or an id on the Hub.
        overrides: `path=value`, as for `--set`.
        seeds: number of fine-tuning runs of each task.
        tasks: empty: all tasks of the suite.
        revision: commit, branch or tag on the Hub.
        name: name of the row; null: from the name of the model.

    Raises:
        ValueError: the checkpoint does not exist, cannot be read, or is not a text model; or a
            task, setting or override is invalid.
    """
    bundle = {"pretrain.model.checkpoint": model}
    if commit := _checked(model, revision):
        bundle["pretrain.model.revision"] = commit
    row = name or _name(model)
    label = re.sub(r"[^a-z0-9_-]+", "-", row.lower()).strip("-_") or "checkpoint"
    evaluate: dict[str, Any] = {"suite": suite, "adaptation": adaptation}
    if tasks:
        evaluate["tasks"] = list(tasks)
    experiment = {
        "name": f"{label}-{suite}"[:MAX_NAME],
        "question": f"How does {model} do on {suite}?",
        "pretrain": {"recipe": "checkpoint"},
        "grid": {"model": {row: bundle}},
        "seeds": {"finetune": seeds},
        "evaluate": evaluate,
    }
    text = json.dumps(experiment, indent=2)  # quoted: a commit may look like a number
    path = Path(f"evaluate {model}")
    try:
        return read(text, path, overrides, with_data=True)
    except DeclarationError as error:
        problems = [_without_line(problem, f"{path}:") for problem in error.problems]
        raise DeclarationError(problems) from error


def _without_line(problem: str, place: str) -> str:
    """A problem without the line of the text, which the user has not seen."""
    if not problem.startswith(place):
        return problem  # of an override
    return f"{place} {problem.removeprefix(place).partition(': ')[2]}"


def _name(model: str) -> str:
    """The last part of an id or a path; a link has its own name, `.` that of the folder."""
    path = Path(model)
    return (path.resolve() if path.name in ("", "..") else path).name or "checkpoint"


def _checked(model: str, revision: str | None) -> str | None:
    """The commit of a checkpoint on the Hub, to pin it; otherwise the revision given.

    Raises:
        ValueError: the checkpoint cannot be evaluated.
    """
    local = files.is_folder(model)
    if local and revision:
        raise ValueError(f"a revision is for ids on the Hub, but {model} is a folder")
    folder = files.fetch(model, revision)
    if why := files.problem(folder):
        raise ValueError(why)
    from harness.data.tokenizers import pretrained
    from harness.pretraining.checkpoint_import import check_weights  # loads torch, as the run will

    check_weights(folder)
    pretrained.check(folder)
    pinned = not local and COMMIT.fullmatch(folder.name)
    return folder.name if pinned else revision
