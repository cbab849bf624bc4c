"""How much two outputs of a model differ, for each of its decisions.

Shapes: N decisions, C alternatives.
"""

from torch import Tensor

LOWEST = -1e30
"""In place of minus infinity, whose products with a probability of 0 are not defined."""


def symmetric_divergences(moved: Tensor, clean: Tensor) -> Tensor:
    """[N] KL(p | q) + KL(q | p) of the distributions q and p with the logits `moved` and `clean`.

    Each first argument has no gradient, as in microsoft/DeBERTa, sift/sift.py, `symmetric_kl`
    (whose values are larger by both entropies).

    Args:
        moved: [N, C] logits, `clean` [N, C]; minus infinity where there is no alternative.
    """
    log_q, log_p = (one.clamp(min=LOWEST).log_softmax(-1) for one in (moved, clean))
    forward = log_p.detach().exp() * (log_p.detach() - log_q)
    backward = log_q.detach().exp() * (log_q.detach() - log_p)
    return (forward + backward).sum(-1)


def squared_differences(moved: Tensor, clean: Tensor) -> Tensor:
    """[N] squared differences of the values `moved` and `clean` [N] (Jiang et al. 2020, section
    3.1, for regression)."""
    return (moved - clean) ** 2
