"""Comparison of hidden states (CKA) and the rank of weight updates.

Shapes: N examples, H and H' hidden sizes.
"""

import torch
from torch import Tensor


def linear_cka(first: Tensor, second: Tensor) -> float:
    """Linear centred kernel alignment of features [N, H] and [N, H'] of the same examples.

    1 for features equal up to rotation and scale, NaN if one is constant (Kornblith et al. 2019,
    section 3: equation 4 with the linear kernel, in terms of features).
    """
    x, y = (_centred(features) for features in (first, second))
    across = torch.linalg.matrix_norm(y.T @ x) ** 2
    within = torch.linalg.matrix_norm(x.T @ x) * torch.linalg.matrix_norm(y.T @ y)
    return float(across / within)


def _centred(features: Tensor) -> Tensor:
    double = features.double()
    return double - double.mean(0)


def effective_rank(matrix: Tensor) -> float:
    """exp of the entropy of the normalised singular values of a matrix [H, H'] (Roy and Vetterli
    2007, section 2): k for k equal ones, NaN for zero or non-finite matrices."""
    if not matrix.isfinite().all() or not matrix.any():
        return float("nan")
    values = torch.linalg.svdvals(matrix.double())
    shares = values / values.sum()
    return float(torch.exp(torch.special.entr(shares).sum()))
