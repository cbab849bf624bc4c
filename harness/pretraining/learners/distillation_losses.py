"""Losses between a student and its teacher.

Shapes: B sequences, T tokens, N real tokens, M predictions, V vocabulary, R relation heads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import BaseModelOutput

from harness.pretraining.learners.attention_scores import Attention
from harness.pretraining.objectives.distillation import Distillation


@dataclass(frozen=True)
class Compared:
    """Outputs of both networks on one batch."""

    student: BaseModelOutput
    teacher: BaseModelOutput
    logits: tuple[Tensor, Tensor]
    """[M, V] of the student and of the teacher."""
    settings: Distillation
    real: Tensor
    """[B, T] bool, False at padding."""
    project: nn.Linear | None
    """From the student's hidden size to the teacher's."""


def projection(from_width: int, to_width: int, initializer_range: float) -> nn.Linear:
    """A new projection of a student's states to the width of its teacher's."""
    project = nn.Linear(from_width, to_width)
    nn.init.normal_(project.weight, std=initializer_range)
    nn.init.zeros_(project.bias)
    return project


def soft_target(compared: Compared) -> Tensor:
    """T^2 x cross-entropy to the teacher's distribution, both softened (Hinton et al. 2015,
    section 2), summed over the predictions [M].

    DistilBERT's code (huggingface/transformers, research project distillation, distiller.py)
    uses all tokens unless `restrict_ce_to_mask` is set, and the KL divergence, which has the
    same gradient.
    """
    temperature = compared.settings.temperature
    ours, theirs = (logits.float() / temperature for logits in compared.logits)
    loss = F.cross_entropy(ours, theirs.softmax(-1), reduction="sum")
    return temperature**2 * loss


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
    ours, theirs = _attentions(compared.student), _attentions(compared.teacher)
    step = len(theirs) // len(ours)
    keys = compared.real[:, None, None, :]  # [B, 1, 1, T]
    pairs = zip(ours, theirs[step - 1 :: step], strict=True)
    scores = ((a.scores.float(), b.scores.float()) for a, b in pairs)
    squares = [((a - b).square() * keys).mean(1).sum(-1) for a, b in scores]
    errors = torch.stack(squares).sum(0) / compared.real.sum(1, keepdim=True)
    return errors[compared.real].sum()


def relation(compared: Compared) -> Tensor:
    """KL divergence of the student's relations from the teacher's, the mean over R heads, summed
    over the query-query, key-key and value-value relations and over queries [N] (Wang et al. 2021,
    section 3.1).

    Those of the student's last layer, and of `relations.teacher_layer`.
    """
    settings = compared.settings.relations
    assert settings is not None
    ours, theirs = _attentions(compared.student), _attentions(compared.teacher)
    student, teacher = ours[-1], theirs[(settings.teacher_layer or len(theirs)) - 1]
    heads = settings.heads_for(teacher.query.shape[1])
    total = torch.zeros((), device=compared.real.device)
    for name in ("query", "key", "value"):
        guessed, wanted = (
            relations(getattr(one, name), heads, compared.real) for one in (student, teacher)
        )
        divergence = F.kl_div(guessed, wanted, reduction="none", log_target=True).sum(-1)
        total = total + divergence.mean(1)[compared.real].sum()
    return total


def _attentions(output: BaseModelOutput) -> tuple[Attention, ...]:
    """Of each layer, after `return_attention`."""
    assert output.attentions is not None
    return cast("tuple[Attention, ...]", output.attentions)


def relations(vectors: Tensor, heads: int, real: Tensor) -> Tensor:
    """[B, R, T, T] logarithms of the softmax of x_i x_j / sqrt(D), over the real keys j, of the
    vectors x [B, A, T, D'] of all heads, joined and split into R of width D = A D' / R.

    Args:
        real: [B, T] bool, False at padding.
    """
    joined = vectors.float().transpose(1, 2).flatten(2)
    split = joined.unflatten(-1, (heads, -1)).transpose(1, 2)
    products = split @ split.transpose(2, 3) / split.shape[-1] ** 0.5
    least = torch.finfo(products.dtype).min
    return products.masked_fill(~real[:, None, None, :], least).log_softmax(-1)


LOSSES: dict[str, Callable[[Compared], Tensor]] = {
    "soft_target": soft_target,
    "cosine": cosine,
    "hidden": hidden,
    "attention": attention,
    "relation": relation,
}
"""Loss name to function; `Distillation` has a weight of each name."""
