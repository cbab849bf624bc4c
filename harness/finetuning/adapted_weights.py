"""The trained weights of a run, without those that stay as pretrained."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from harness.core.files import usual_mode
from harness.finetuning.adaptation import Adaptation
from harness.finetuning.costs import stored
from harness.finetuning.task_model import TaskModel

WEIGHTS, METADATA = "adapted.safetensors", "adaptation.json"


def save_adapted(model: TaskModel, adaptation: Adaptation, folder: Path) -> None:
    """Writes the adaptation and its trained weights to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: value.detach().cpu().contiguous() for name, value in stored(model).items()}
    save_file(tensors, folder / WEIGHTS)
    usual_mode(folder / WEIGHTS)
    (folder / METADATA).write_text(json.dumps({"adaptation": adaptation.content}, indent=2) + "\n")


@torch.no_grad()
def load_adapted(model: TaskModel, adaptation: Adaptation, folder: Path) -> None:
    """Loads saved weights into a new model that has the same pretrained weights and adaptation.

    Raises:
        ValueError: the folder holds another adaptation, or other parameters.
    """
    saved = json.loads((folder / METADATA).read_text())["adaptation"]
    if saved != adaptation.content:
        raise ValueError(
            f"{folder} holds the adaptation {saved}, but must hold {adaptation.content}"
        )
    tensors, own = load_file(folder / WEIGHTS), stored(model)
    if tensors.keys() != own.keys():
        odd = ", ".join(sorted(tensors.keys() ^ own.keys())[:3])
        raise ValueError(f"{folder} must hold the trained parameters, but differs in {odd}")
    for name, value in own.items():
        value.copy_(tensors[name])
