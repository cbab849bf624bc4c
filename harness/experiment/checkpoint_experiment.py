"""Someone else's checkpoint as an experiment of one arm: what `harness evaluate` runs."""

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
"""Characters that the name of an experiment may have."""
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class CheckpointEvaluation:
    """What is to be evaluated, and how."""

    model: str
    suite: str
    seeds: int = 3
    tasks: tuple[str, ...] = ()
    """Empty: all of the suite."""
    adaptation: str = "full"
    revision: str | None = None
    name: str | None = None
    """Of its row; null: made from the model's."""


def load_evaluation(wanted: CheckpointEvaluation, overrides: Sequence[str] = ()) -> Declaration:
    """Reads the checkpoint's files, downloads them where they must be, and declares its evaluation.

    Raises:
        ValueError: there is no such checkpoint, it cannot be read, or is no model of text.
    """
    revision = _check(wanted)
    text = json.dumps(_experiment(wanted, revision), indent=2)  # quoted: a commit may look a number
    declaration = read(text, Path(f"evaluate {wanted.model}"), overrides)
    check_data(declaration)
    return declaration


def _check(wanted: CheckpointEvaluation) -> str | None:
    """The commit that is evaluated, of a checkpoint of the Hub; it pins what is read.

    Raises:
        ValueError: what is there cannot be evaluated.
    """
    local = files.is_folder(wanted.model)
    if local and wanted.revision:
        raise ValueError(f"a revision is for ids of the Hub, but {wanted.model} is a folder")
    folder = files.fetch(wanted.model, wanted.revision)
    if why := files.problem(folder):
        raise ValueError(why)
    from harness.data.tokenizers import pretrained
    from harness.pretraining.checkpoint_import import check_type  # loads torch, as the run will

    check_type(folder)
    pretrained.check(folder)
    pinned = not local and COMMIT.fullmatch(folder.name)
    return folder.name if pinned else wanted.revision


def _experiment(wanted: CheckpointEvaluation, revision: str | None) -> dict[str, Any]:
    """What an experiment file would say. Its one arm is named by an axis, so that the row has the
    model's name, and the experiment that of the suite, too."""
    name = wanted.name or Path(wanted.model).resolve().name or "checkpoint"
    label = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_") or "checkpoint"
    bundle = {"pretrain.model.checkpoint": wanted.model}
    if revision:
        bundle["pretrain.model.revision"] = revision
    evaluate: dict[str, Any] = {"suite": wanted.suite, "adaptation": wanted.adaptation}
    if wanted.tasks:
        evaluate["tasks"] = list(wanted.tasks)
    return {
        "name": f"{label}-{wanted.suite}"[:MAX_NAME],
        "question": f"How does {wanted.model} do on {wanted.suite}?",
        "pretrain": {"recipe": "checkpoint"},
        "grid": {"model": {wanted.name or name: bundle}},
        "seeds": {"finetune": wanted.seeds},
        "evaluate": evaluate,
    }
