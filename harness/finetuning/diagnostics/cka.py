"""States and updates compared.

Shapes: N examples, H and H' hidden sizes.
"""

import torch
from torch import Tensor


def linear_cka(first: Tensor, second: Tensor) -> float:
    """Linear centred kernel alignment of features [N, H] and [N, H'] of the same examples: 1 for
    equal ones up to rotation and scale, NaN where one is constant (Kornblith et al. 2019, section
    3: HSIC of equation 3 over its norm of equation 4, in terms of features)."""
    x, y = (_centred(features) for features in (first, second))
    across = torch.linalg.matrix_norm(y.T @ x) ** 2
    within = torch.linalg.matrix_norm(x.T @ x) * torch.linalg.matrix_norm(y.T @ y)
    return float(across / within)


def _centred(features: Tensor) -> Tensor:
    double = features.double()
    return double - double.mean(0)


def effective_rank(matrix: Tensor) -> float:
    """exp of the entropy of the singular values, taken as shares of their sum (Roy and Vetterli
    2007, section 2): k for k equal ones. NaN for a matrix of zeros, or not of numbers."""
    if not matrix.isfinite().all() or not matrix.any():
        return float("nan")
    values = torch.linalg.svdvals(matrix.double())
    shares = values / values.sum()
    return float(torch.exp(torch.special.entr(shares).sum()))
