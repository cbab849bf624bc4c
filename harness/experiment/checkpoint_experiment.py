"""The evaluation of an external checkpoint as an experiment with one arm (`harness evaluate`)."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.experiment.data_checks import check_data
from harness.experiment.declaration import Declaration, read
from harness.models.checkpoints import files

MAX_NAME = 64
"""Maximum length of the name of an experiment."""
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class CheckpointEvaluation:
    """The arguments of `harness evaluate`."""

    model: str
    """A folder, or an id on the Hub."""
    suite: str
    seeds: int = 3
    """Fine-tuning runs of each task."""
    tasks: tuple[str, ...] = ()
    """Empty: all tasks of the suite."""
    adaptation: str = "full"
    revision: str | None = None
    """Commit, branch or tag on the Hub."""
    name: str | None = None
    """Name of the row; null: from the name of the model."""


def load_evaluation(arguments: CheckpointEvaluation, overrides: Sequence[str] = ()) -> Declaration:
    """Declares the evaluation of a checkpoint, whose files are downloaded if needed.

    Args:
        overrides: `path=value`, as for `--set`.

    Raises:
        ValueError: the checkpoint does not exist, cannot be read, or is not a text model.
    """
    revision = _check(arguments)
    text = json.dumps(
        _experiment(arguments, revision), indent=2
    )  # quoted: a commit may look like a number
    declaration = read(text, Path(f"evaluate {arguments.model}"), overrides)
    check_data(declaration)
    return declaration


def _check(arguments: CheckpointEvaluation) -> str | None:
    """The commit of a checkpoint on the Hub, to pin it; otherwise the revision given.

    Raises:
        ValueError: the checkpoint cannot be evaluated.
    """
    local = files.is_folder(arguments.model)
    if local and arguments.revision:
        raise ValueError(f"a revision is for ids on the Hub, but {arguments.model} is a folder")
    folder = files.fetch(arguments.model, arguments.revision)
    if why := files.problem(folder):
        raise ValueError(why)
    from harness.data.tokenizers import pretrained
    from harness.pretraining.checkpoint_import import check_type  # loads torch, as the run will

    check_type(folder)
    pretrained.check(folder)
    pinned = not local and COMMIT.fullmatch(folder.name)
    return folder.name if pinned else arguments.revision


def _experiment(arguments: CheckpointEvaluation, revision: str | None) -> dict[str, Any]:
    """The experiment as plain data. An axis with one value names the arm after the model; the name
    of the experiment also contains the suite."""
    name = arguments.name or Path(arguments.model).resolve().name or "checkpoint"
    label = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_") or "checkpoint"
    bundle = {"pretrain.model.checkpoint": arguments.model}
    if revision:
        bundle["pretrain.model.revision"] = revision
    evaluate: dict[str, Any] = {"suite": arguments.suite, "adaptation": arguments.adaptation}
    if arguments.tasks:
        evaluate["tasks"] = list(arguments.tasks)
    return {
        "name": f"{label}-{arguments.suite}"[:MAX_NAME],
        "question": f"How does {arguments.model} do on {arguments.suite}?",
        "pretrain": {"recipe": "checkpoint"},
        "grid": {"model": {arguments.name or name: bundle}},
        "seeds": {"finetune": arguments.seeds},
        "evaluate": evaluate,
    }
