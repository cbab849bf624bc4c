"""Losses between a student and its teacher.

Shapes: B sequences, T tokens, N real tokens, M predictions, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import BaseModelOutput


@dataclass(frozen=True)
class Compared:
    """Outputs of both networks on one batch."""

    student: BaseModelOutput
    teacher: BaseModelOutput
    logits: tuple[Tensor, Tensor]
    """[M, V] of the student and of the teacher."""
    temperature: float
    real: Tensor
    """[B, T] bool, False at padding."""
    project: nn.Linear | None
    """From the student's hidden size to the teacher's."""


def soft_target(compared: Compared) -> Tensor:
    """T^2 x cross-entropy to the teacher's distribution, both softened (Hinton et al. 2015,
    section 2), summed over the predictions [M].

    DistilBERT's code (huggingface/transformers, research project distillation, distiller.py)
    uses all tokens unless `restrict_ce_to_mask` is set, and the KL divergence, which has the
    same gradient.
    """
    ours, theirs = (logits.float() / compared.temperature for logits in compared.logits)
    loss = F.cross_entropy(ours, theirs.softmax(-1), reduction="sum")
    return compared.temperature**2 * loss


def cosine(compared: Compared) -> Tensor:
    """1 - cosine of the last states, summed over [N] (Sanh et al. 2019, section 2)."""
    ours, theirs = compared.student.last_hidden_state, compared.teacher.last_hidden_state
    assert ours is not None
    assert theirs is not None
    return (1 - F.cosine_similarity(ours.float(), theirs.float(), dim=-1))[compared.real].sum()


def hidden(compared: Compared) -> Tensor:
    """Mean squared error of the embeddings and of each layer's states (Jiao et al. 2020, equations
    8 and 9), summed over layers and [N].

    One projection for all of them, as in huawei-noah/Pretrained-Language-Model, TinyBERT,
    `fit_dense`.
    """
    ours, theirs = compared.student.hidden_states, compared.teacher.hidden_states
    assert ours is not None
    assert theirs is not None
    assert compared.project is not None
    step = (len(theirs) - 1) // (len(ours) - 1)
    pairs = zip(ours, theirs[::step], strict=True)
    errors = [(compared.project(a).float() - b.float()).square().mean(-1) for a, b in pairs]
    return torch.stack(errors).sum(0)[compared.real].sum()


def attention(compared: Compared) -> Tensor:
    """Mean squared error, over heads and the real keys of a query, of each layer's scores before
    the softmax (Jiao et al. 2020, equation 7), summed over layers and queries [N].

    TinyBERT's code includes padding in its mean.
    """
    ours, theirs = compared.student.attentions, compared.teacher.attentions
    assert ours is not None
    assert theirs is not None
    step = len(theirs) // len(ours)
    keys = compared.real[:, None, None, :]  # [B, 1, 1, T]
    pairs = zip(ours, theirs[step - 1 :: step], strict=True)
    squares = [((a.float() - b.float()).square() * keys).mean(1).sum(-1) for a, b in pairs]
    errors = torch.stack(squares).sum(0) / compared.real.sum(1, keepdim=True)
    return errors[compared.real].sum()


LOSSES: dict[str, Callable[[Compared], Tensor]] = {
    "soft_target": soft_target,
    "cosine": cosine,
    "hidden": hidden,
    "attention": attention,
}
"""Loss name to function; `Distillation` has a weight of each name."""
