"""Checks of an arm that is an external checkpoint."""

from harness.experiment.arms import Arm
from harness.experiment.checks.grid import Problems
from harness.models.checkpoints import files

KEYS = ("pretrain", "model", "checkpoint")


def problems(arm: Arm) -> Problems:
    """Problems that do not depend on the files of the checkpoint."""
    model = arm.pretrain.model
    if model.facts.kind == "checkpoint" and not model.checkpoint:
        yield (
            ("pretrain", "recipe") if arm.pretrain.recipe == "checkpoint" else KEYS,
            "pretrain.model.checkpoint is required of the family checkpoint, but is not given; "
            "name a folder or an id on the Hub",
        )
    elif model.checkpoint and model.revision and files.is_folder(model.checkpoint):
        keys = ("pretrain", "model", "revision")
        yield keys, "pretrain.model.revision is for ids on the Hub, but checkpoint is a folder"


def data_problems(arm: Arm) -> Problems:
    """Problems of the files, if they are local or cached."""
    model = arm.pretrain.model
    folder = files.found(str(model.checkpoint), model.revision)
    if folder is None:
        return
    if files.is_folder(str(model.checkpoint)) and (why := files.problem(folder)):
        yield KEYS, f"pretrain.model.checkpoint: {why}"
        return
    most = files.positions(files.read_config(folder))
    longest = arm.evaluate.protocol.max_sequence_length
    if longest > most:
        yield (
            ("evaluate", "protocol", "max_sequence_length"),
            f"evaluate.protocol.max_sequence_length must be at most {most:g}, the positions of "
            f"{model.checkpoint}, but is {longest}",
        )
