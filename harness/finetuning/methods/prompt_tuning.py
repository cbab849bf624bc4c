"""Prompt tuning (Lester et al. 2021)."""

from typing import Any

import torch
from torch import nn

from harness.finetuning.adaptation import PromptTuning
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import SoftPrompt

COMMONEST = 5000
"""Vectors are initialised with embeddings of tokens among the first of the vocabulary, the most
common ones (section 3.2)."""
TIME_FIRST = ("xlnet",)
"""Networks whose embeddings are [T, B, H]."""


@torch.no_grad()
def prompt_tuning(model: TaskModel, adaptation: PromptTuning) -> None:
    """Prepends trained vectors to the embedded input (of the encoder, if there is one). Only they
    and the output layer are trained.

    Raises:
        ValueError: the model uses beam search, which ignores the vectors.
    """
    if getattr(model, "num_beams", 1) > 1:
        raise ValueError(
            "protocol.num_beams must be 1 for prompt_tuning, which decodes greedily, but is "
            f"{getattr(model, 'num_beams', 1)}"
        )
    backbone = model.backbone
    network: Any = backbone.network
    network.requires_grad_(False)
    weight = network.get_input_embeddings().weight
    tables = [m for m in network.modules() if isinstance(m, nn.Embedding) and m.weight is weight]
    drawn = torch.randint(min(COMMONEST, len(weight)), (adaptation.length,), device=weight.device)
    pad = int(network.config.pad_token_id or 0)
    backbone.soft_prompt = SoftPrompt(
        tables[0](drawn).clone(), 0 if pad else 1, network.config.model_type in TIME_FIRST
    )
    for table in tables:
        table.register_forward_hook(backbone.soft_prompt.replace)
