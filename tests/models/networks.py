"""Small networks, text to read, and what must hold of every backbone."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from harness.models import MODELS, SIZES
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens, blueprint_name
from harness.models.build import BLUEPRINTS, build, load
from harness.pretraining.learners.learner import Learner
from tests.models.counts.head_parameters import count_trained_parameters

VOCAB, PAD, END = 90, 0, 3
TOKENS = Tokens(VOCAB, PAD, 2, END)


def small(name: str, representation: str, tokens: Tokens = TOKENS, **more: Any) -> Backbone:
    """A nano network of a named model, without dropout; its states differ well."""
    changes = {"dropout": 0.0, "attention_dropout": 0.0, "initializer_range": 0.1, **more}
    if name.startswith("t5"):
        changes["initializer_range"] = 0.02  # T5 scales by itself
    architecture = MODELS[name].model_copy(update=changes)
    return build(architecture, SIZES["nano"], tokens, representation, 0)


def network(backbone: Backbone) -> Any:
    """transformers' network of a backbone."""
    return backbone.network


def text(rows: int = 4, length: int = 12, seed: int = 0) -> Tensor:
    """[B, T] tokens, none of them special."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(5, VOCAB, (rows, length), generator=generator)


def padding(rows: int = 4, length: int = 12) -> Tensor:
    """[B, T] attention mask: each row is one token shorter than the one before."""
    return (torch.arange(length) < length - torch.arange(rows)[:, None]).long()


def meta_count(name: str, size: Any, vocab_size: int, representation: str, **more: Any) -> int:
    """Parameters of the network that is built, each once, without making its weights."""
    architecture = MODELS[name].model_copy(update=more)
    blueprint = BLUEPRINTS[blueprint_name(architecture, representation)]
    config = blueprint.config(architecture, size, Tokens(vocab_size, 0, 2, 3))
    with torch.device("meta"):
        network = blueprint.network._from_config(config)
    count = sum(parameter.numel() for parameter in network.parameters())
    expected = count_trained_parameters(
        architecture, size, vocab_size, representation=representation
    )
    assert count == expected, f"{count} parameters, but {expected} are counted"
    return count


def saved(backbone: Backbone, folder: Path) -> Backbone:
    """The network as it is read back; all weights must be the same."""
    backbone.save(folder)
    again = load(folder)
    mine, theirs = backbone.network.state_dict(), again.network.state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    mine_named = {name for name, _ in backbone.network.named_parameters()}
    assert mine_named == {name for name, _ in again.network.named_parameters()}  # tied as before
    assert again.representation == backbone.representation
    return again


def without_gradient(learner: Learner, batch: dict[str, Tensor]) -> set[str]:
    """Parameters that the losses of a batch do not reach."""
    sum(learner(batch)[0].values(), torch.zeros(())).backward()
    return {name for name, parameter in learner.named_parameters() if parameter.grad is None}


LEARNED = 0.2
"""Loss in nats at which a batch is known by heart."""


def overfit(learner: Learner, batch: dict[str, Tensor], steps: int = 80) -> float:
    """Mean loss after updates on one batch: `steps`, or as many as it takes to learn it."""
    optimizer = torch.optim.AdamW(learner.parameters(), lr=3e-3, weight_decay=0.0)
    for _ in range(steps):
        loss = learner(batch)[0]["token"] / len(batch["targets"])
        if loss < LEARNED:
            break
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
        optimizer.step()
    return float(loss.detach())


def mean_loss(learner: Learner, batch: dict[str, Tensor]) -> Tensor:
    """The mean token loss, as transformers' networks return it."""
    with torch.no_grad():
        return learner(batch)[0]["token"] / len(batch["targets"])
