"""Scale-invariant fine-tuning (SiFT; He et al. 2021, section 4): virtual adversarial training on
normalised token embeddings.

Embeddings e are perturbed by delta after their normalisation, N(e) = (e - mean) / s, where s is the
standard deviation of e: to s (N(e) + delta) + mean = e + s delta, which a layer norm above maps to
that of N(e) + delta. Thus the network without perturbations stays as it is, and networks without
such a norm can be trained so, too. delta starts at random and takes one step towards outputs that
differ more from the clean ones; their difference is a further loss. As in microsoft/DeBERTa,
sift/sift.py, which perturbs DeBERTa's embeddings below their norm.

Shapes: B rows, T tokens, E embedding size, N decisions.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from harness.finetuning.changed_embeddings import changed_embeddings
from harness.finetuning.inputs import Batch
from harness.finetuning.task_model import TaskModel

STEP = 1e-4
"""Largest change of a token's perturbation (`learning_rate`, ibid.; experiments/glue/mnli.sh)."""
INITIAL = 1e-2
"""Standard deviation of the first perturbation, cut at twice that (`init_perturbation`, ibid.)."""
TINY = 1e-6
"""Added to the largest gradient of a token (ibid.)."""

Divergences = Callable[[Tensor, Tensor, Batch], Tensor]
"""(perturbed outputs, clean outputs, batch) to how much each of N decisions differs, [N]."""
Delta = Callable[[int, Tensor], Tensor]
"""(number of the call, embeddings [B, T, E]) to the perturbation of the normalised ones."""


def adversarial_divergence(
    model: TaskModel, divergences: Divergences, clean: Tensor, batch: Batch
) -> Tensor:
    """Mean difference [] between the outputs of a model for perturbed and clean embeddings.

    Args:
        clean: outputs [B, ...] for `batch`, float32, in which the difference has a gradient, too.
    """
    deltas = perturbations(model, divergences, clean, batch)
    return divergence_at(model, divergences, deltas, clean, batch)


def perturbations(
    model: TaskModel, divergences: Divergences, clean: Tensor, batch: Batch
) -> list[Tensor]:
    """[B, T, E] perturbation of each call of the token embeddings in a pass over `batch`, which
    groups of rows may share; drawn from torch's generator."""
    deltas: list[Tensor] = []

    def draw(_: int, embedded: Tensor) -> Tensor:
        noise = torch.empty_like(embedded, requires_grad=False).normal_(0, INITIAL)
        deltas.append(noise.clamp_(-2 * INITIAL, 2 * INITIAL).requires_grad_())
        return deltas[-1]

    with _perturbed(model, draw):
        difference = divergences(model(batch).to(clean), clean.detach(), batch).sum()
    steps = torch.autograd.grad(difference, deltas)
    return [_moved(delta.detach(), step) for delta, step in zip(deltas, steps, strict=True)]


def divergence_at(
    model: TaskModel,
    divergences: Divergences,
    deltas: Sequence[Tensor],
    clean: Tensor,
    batch: Batch,
) -> Tensor:
    """Mean difference [] from the outputs `clean` [B, ...], where `deltas` [B, T, E] of the calls
    perturb the embeddings."""
    with _perturbed(model, lambda call, _: deltas[call]):
        return divergences(model(batch).to(clean), clean, batch).mean()


def _moved(delta: Tensor, gradient: Tensor) -> Tensor:
    """[B, T, E] after a step along the gradient, in which the largest change of a token is STEP."""
    return delta + STEP * gradient / (gradient.abs().amax(-1, keepdim=True) + TINY)


def _perturbed(model: TaskModel, delta: Delta) -> AbstractContextManager[None]:
    """A context in which the token embeddings of the inputs are perturbed, and have no gradient."""

    def change(call: int, embedded: Tensor) -> Tensor:
        fixed = embedded.detach()
        return fixed + fixed.std(-1, correction=0, keepdim=True) * delta(call, fixed)

    return changed_embeddings(model, change)
