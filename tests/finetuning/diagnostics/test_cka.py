"""Similarity of states and rank of updates, against their definitions."""

import math

import pytest
import torch
from torch import Tensor

from harness.finetuning.diagnostics.cka import effective_rank, linear_cka


def states(seed: int, rows: int = 20, width: int = 6) -> Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed)).double()


def hsic(k: Tensor, l: Tensor) -> Tensor:  # noqa: E741  # the paper's name
    """Kornblith et al. 2019, equation 3, of Gram matrices [N, N]."""
    n = len(k)
    centring = torch.eye(n).double() - 1 / n
    return torch.trace(k @ centring @ l @ centring) / (n - 1) ** 2


def test_cka_is_hsic_over_its_norm() -> None:
    x, y = states(0), states(0, width=6) @ states(1, 6, 4) + 0.5 * states(2, width=4)
    k, l = x @ x.T, y @ y.T  # noqa: E741
    expected = hsic(k, l) / (hsic(k, k) * hsic(l, l)).sqrt()  # equation 4
    assert linear_cka(x, y) == pytest.approx(float(expected), rel=1e-10)
    assert 0 < linear_cka(x, y) < 1


def test_cka_is_invariant_to_rotation_scale_and_offset() -> None:
    x, y = states(0), states(1)
    rotation = torch.linalg.qr(states(2, 6)).Q
    assert linear_cka(x, 3 * x @ rotation + 5) == pytest.approx(1)
    assert linear_cka(y, 3 * x @ rotation + 5) == pytest.approx(linear_cka(y, x))
    assert linear_cka(x, x @ torch.diag(torch.arange(1, 7)).double()) < 0.99


def test_cka_of_a_constant_is_undefined() -> None:
    assert math.isnan(linear_cka(states(0), torch.ones(20, 3)))


@pytest.mark.parametrize("k", [1, 3, 5])
def test_effective_rank_of_k_equal_values_is_k(k: int) -> None:
    matrix = torch.zeros(5, 7)
    matrix[:k, :k] = 0.1 * torch.eye(k)
    assert effective_rank(matrix) == pytest.approx(k)


def test_effective_rank_by_hand() -> None:
    shares = [0.75, 0.25]
    expected = math.exp(-sum(p * math.log(p) for p in shares))
    assert effective_rank(torch.diag(torch.tensor([3.0, 1.0]))) == pytest.approx(expected)


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_effective_rank_of_a_degenerate_matrix_is_undefined(value: float) -> None:
    assert math.isnan(effective_rank(torch.full((2, 2), value)))
