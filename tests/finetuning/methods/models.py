"""Small models of every family under every adaptation, and a batch that they can learn."""

import copy
from functools import cache
from typing import Any

import torch
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.inputs import Batch
from harness.finetuning.methods import adapt
from harness.finetuning.methods.parts import freeze_unused
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models import FAMILIES, MODELS, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build

PAD, START, END, VOCAB = 0, 2, 3, 40
SIZE = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=128)
NAMES = [
    name
    for name, model in MODELS.items()
    if FAMILIES[model.family].kind not in ("baseline", "checkpoint")
    and name not in ("electra_small", "t5_v1_1")
]


@cache
def make_backbone(name: str, reading: str | None = None) -> Backbone:
    """A network of a named model; not to be changed."""
    changes: dict[str, Any] = {"max_position": 64, "dropout": 0.0, "attention_dropout": 0.0}
    if not name.startswith("t5"):  # which scales by itself
        changes["initializer_range"] = 0.1
    if name.startswith("electra") or name == "albert":
        changes["embedding_size"] = 16
    model = MODELS[name].model_copy(update=changes)
    tokens = Tokens(VOCAB, PAD, START, END, pair_format=True)
    return build(model, SIZE, tokens, reading or model.facts.representations[0], 0)


def adapted(
    name: str, adaptation: Adaptation, seed: int = 0, predicts_tokens: bool = False
) -> Classifier:
    """A classifier of two classes before its first update."""
    torch.manual_seed(seed)
    backbone = copy.deepcopy(make_backbone(name))
    model = Classifier(backbone, 2, Protocol(head_dropout=0.0), adaptation)
    model.predicts_tokens = predicts_tokens
    freeze_unused(model)
    adapt(model, adaptation)
    return model.train()


def merge(model: TaskModel) -> None:
    """Merges the updates of `lora` or `ia3` into the weights and removes the added modules."""
    network = model.backbone.network
    for name, module in list(network.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge()
            parent, _, last = name.rpartition(".")
            setattr(network.get_submodule(parent), last, module.get_base_layer())


def batch(rows: int = 8, length: int = 10) -> Batch:
    """Whether token 5 or token 6 comes first in rows of different lengths."""
    rng = torch.Generator().manual_seed(1)
    labels = torch.arange(rows) % 2
    ids = torch.randint(7, VOCAB, (rows, length), generator=rng)
    ids[:, 0], ids[:, 1:4] = START, (5 + labels)[:, None]
    lengths = length - torch.arange(rows) % 4
    mask = (torch.arange(length) < lengths[:, None]).long()
    ids[torch.arange(rows), lengths - 1] = END
    ids = ids * mask
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "token_type_ids": torch.zeros_like(ids),
        "labels": labels,
    }


def loss_of(model: Classifier, one: Batch) -> Tensor:
    return F.cross_entropy(model(one), one["labels"])


def trained(model: torch.nn.Module) -> dict[str, Tensor]:
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def learn(model: Classifier, one: Batch, rate: float, steps: int = 6) -> tuple[float, float]:
    """Losses before and after some updates on one batch."""
    optimizer = torch.optim.AdamW(trained(model).values(), lr=rate, weight_decay=0.01)
    first = float(loss_of(model, one).detach())
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model, one).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return first, float(loss_of(model, one).detach())
