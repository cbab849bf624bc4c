"""What a run has trained, beside the pretrained weights that it began with."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.costs import stored
from harness.finetuning.task_model import TaskModel

WEIGHTS, NOTE = "adapted.safetensors", "adaptation.json"


def save_adapted(model: TaskModel, adaptation: Adaptation, folder: Path) -> None:
    """Writes the adaptation, and what it has trained: nothing of what stays as it was."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: value.detach().cpu().contiguous() for name, value in stored(model).items()}
    save_file(tensors, folder / WEIGHTS)
    (folder / NOTE).write_text(json.dumps({"adaptation": adaptation.content}, indent=2) + "\n")


@torch.no_grad()
def load_adapted(model: TaskModel, adaptation: Adaptation, folder: Path) -> None:
    """Gives a freshly prepared model on the same pretrained weights what a run has trained.

    Raises:
        ValueError: another adaptation was saved, or other parameters.
    """
    note = json.loads((folder / NOTE).read_text())["adaptation"]
    if note != adaptation.content:
        raise ValueError(
            f"{folder} holds the adaptation {note}, but {adaptation.content} is asked for"
        )
    tensors, own = load_file(folder / WEIGHTS), stored(model)
    if tensors.keys() != own.keys():
        odd = ", ".join(sorted(tensors.keys() ^ own.keys())[:3])
        raise ValueError(f"{folder} must hold what the adaptation trains, but differs in {odd}")
    for name, value in own.items():
        value.copy_(tensors[name])
