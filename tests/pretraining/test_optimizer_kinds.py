"""Each optimiser against its published update, by hand or by another library; all of them resume
where they stopped, and learn."""

import copy
from typing import Any, get_args

import pytest
import torch
import transformers
from torch import Tensor, nn

from harness.models import FAMILY_FIELDS, Architecture, Size
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.pretraining.optimization import make_optimizer, parameter_groups
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.optimizer_kinds import ADAGRAD_SUM, OPTIMIZERS, share_capped
from harness.pretraining.recipes import RECIPES
from harness.pretraining.schedule import Schedule, learning_rate_factor

VOCAB = 23
RATES = {"lamb": 0.02, "adafactor": 0.02, "sgd": 0.1, "adagrad": 0.02}


class Model(nn.Module):
    """Tied tokens, a matrix and a norm, named as transformers names them."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(7, 4)
        self.places = nn.Embedding(3, 4)
        self.linear = nn.Linear(4, 6)
        self.norm = nn.LayerNorm(6)
        self.head = nn.Linear(6, 7)

    def get_input_embeddings(self) -> nn.Module:
        return self.tokens

    def get_output_embeddings(self) -> nn.Module:
        return self.head

    def forward(self, ids: Tensor) -> Tensor:
        states = self.tokens(ids) + self.places(torch.arange(len(ids)))
        return self.head(self.norm(self.linear(states)))


def settings_of(kind: str, **fields: Any) -> Optimizer:
    return Optimizer(kind=kind, learning_rate=RATES.get(kind, 0.01), weight_decay=0.1, **fields)


def make(kind: str, **fields: Any) -> tuple[Model, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = Model()
    return model, make_optimizer(model, settings_of(kind, **fields))


def losses(model: Model, optimizer: torch.optim.Optimizer, updates: int) -> list[float]:
    found = []
    for _ in range(updates):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.tensor([1, 2, 3])), torch.tensor([4, 5, 6]))
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_every_declarable_kind_has_an_optimizer() -> None:
    assert set(get_args(Optimizer.model_fields["kind"].annotation)) == set(OPTIMIZERS)


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_it_overfits_a_batch(kind: str) -> None:
    found = losses(*make(kind), 300)
    assert found[-1] < 0.2 * found[0]


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_it_resumes_where_it_stopped(kind: str) -> None:
    model, optimizer = make(kind)
    losses(model, optimizer, 3)
    weights, state = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    expected = losses(model, optimizer, 3)
    model, optimizer = make(kind)
    model.load_state_dict(weights)
    optimizer.load_state_dict(state)
    assert losses(model, optimizer, 3) == expected


def test_roles() -> None:
    model = Model()
    groups = parameter_groups(model, Optimizer(kind="muon"))
    found = {group["role"]: {id(weight) for weight in group["params"]} for group in groups}
    assert found["matrix"] == {id(model.linear.weight)}
    tables = (model.tokens, model.places, model.head)
    assert found["embedding"] == {id(one.weight) for one in tables}
    assert len(found["vector"]) == 4


@pytest.mark.parametrize(
    "family", ["bert", "gpt2", "llama", "t5", "lstm", "bilstm", "elmo", "static"]
)
def test_matrices_of_tokens_are_no_matrices_of_layers(family: str) -> None:
    """Also where they are not tied to the embeddings."""
    tied = {} if family not in FAMILY_FIELDS["tie_embeddings"] else {"tie_embeddings": False}
    architecture = Architecture(family=family, max_position=16, **tied)
    size = Size(num_layers=1, hidden_size=8, num_heads=2, intermediate_size=32)
    reading = architecture.facts.representations[0]
    network = build(architecture, size, Tokens(VOCAB, 0, 2, 3), reading, 0).network
    of_tokens = {id(one) for one in network.parameters() if one.shape[0] == VOCAB and one.ndim > 1}
    groups = parameter_groups(network, Optimizer(kind="muon"))
    found = {group["role"]: {id(weight) for weight in group["params"]} for group in groups}
    assert of_tokens and of_tokens <= found["embedding"]
    assert not of_tokens & found.get("matrix", set())


def test_biases_and_embeddings_of_several_axes_are_no_matrices() -> None:
    size = Size(num_layers=1, hidden_size=8, num_heads=2, intermediate_size=32)
    network = build(
        Architecture(family="xlnet"), size, Tokens(VOCAB, 0, 2, 3), "permuted", 0
    ).network
    groups = parameter_groups(network, Optimizer(kind="muon"))
    matrices = {id(one) for group in groups if group["role"] == "matrix" for one in group["params"]}
    found = {n.split(".")[-1] for n, one in network.named_parameters() if id(one) in matrices}
    assert found == {"q", "k", "v", "o", "r", "weight"}


GRADIENTS = [
    torch.randn(6, 4, generator=torch.Generator().manual_seed(seed)) * 10.0**-seed
    for seed in range(4)
]


def follow(kind: str, initial: Tensor, **fields: Any) -> Tensor:
    """The weights [6, 4] of a linear layer, or [6] of a bias, after GRADIENTS, or their columns."""
    layer = nn.Linear(4, 6)
    weight = layer.weight if initial.ndim == 2 else layer.bias
    weight.data = initial.clone()
    (layer.bias if initial.ndim == 2 else layer.weight).requires_grad_(False)
    optimizer = make_optimizer(layer, settings_of(kind, **fields))
    for gradient in GRADIENTS:
        weight.grad = gradient.clone() if initial.ndim == 2 else gradient[:, 0].clone()
        optimizer.step()
    return weight.detach()


MATRIX = 30 * torch.randn(6, 4, generator=torch.Generator().manual_seed(9))
VECTOR = MATRIX[:, 1].clone()


@pytest.mark.parametrize("initial", [MATRIX, VECTOR])
def test_lamb_is_that_of_albert(initial: Tensor) -> None:
    """google-research/albert, lamb_optimizer.py: neither biases nor norms decay or are adapted."""
    m = v = torch.zeros_like(initial)
    expected = initial
    for gradient in GRADIENTS:
        gradient = gradient if initial.ndim == 2 else gradient[:, 0]
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        update, ratio = m / (v.sqrt() + 1e-6), torch.ones(())
        if initial.ndim == 2:
            update = update + 0.1 * expected
            ratio = expected.norm() / update.norm()
        expected = expected - RATES["lamb"] * ratio * update
    torch.testing.assert_close(follow("lamb", initial), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("initial", [MATRIX, VECTOR])
def test_adafactor_is_that_of_transformers(initial: Tensor) -> None:
    """With the settings of T5's pretraining (Raffel et al. 2020, section 3.1.2)."""
    weight = nn.Parameter(initial.clone())
    reference = transformers.Adafactor(
        [weight], lr=RATES["adafactor"], relative_step=False, scale_parameter=True
    )
    for gradient in GRADIENTS:
        weight.grad = gradient.clone() if initial.ndim == 2 else gradient[:, 0].clone()
        reference.step()
    settings = Optimizer(kind="adafactor", learning_rate=RATES["adafactor"], weight_decay=0.0)
    layer = nn.Linear(4, 6)
    ours = layer.weight if initial.ndim == 2 else layer.bias
    ours.data = initial.clone()
    optimizer = make_optimizer(layer, settings)
    for gradient in GRADIENTS:
        ours.grad = gradient.clone() if initial.ndim == 2 else gradient[:, 0].clone()
        optimizer.step()
    torch.testing.assert_close(ours.detach(), weight.detach(), rtol=1e-5, atol=1e-6)


def test_the_share_of_updates_in_which_adafactor_is_slower_than_its_schedule() -> None:
    """By its updates: with a schedule that is cut to 1/sqrt(step), the weights are the same."""
    schedule = Schedule(warmup_fraction=0.1, decay="linear")
    rates = [0.5 * learning_rate_factor(schedule, step, 100) for step in range(100)]
    cut = [min(rate, (step + 1) ** -0.5) for step, rate in enumerate(rates)]
    trained = [_by_adafactor(given) for given in (rates, cut)]
    torch.testing.assert_close(*trained)
    capped = sum(rate > 1.001 * own for rate, own in zip(rates, cut, strict=True)) / 100
    assert 0.5 < capped < 0.9 and share_capped(0.5, schedule, 100) == pytest.approx(capped)


def _by_adafactor(rates: list[float]) -> Tensor:
    weight = nn.Parameter(torch.arange(1.0, 13.0).reshape(3, 4))
    optimizer = OPTIMIZERS["adafactor"]([{"params": [weight]}], Optimizer(kind="adafactor"))
    for step, rate in enumerate(rates):
        optimizer.param_groups[0]["lr"] = rate
        weight.grad = torch.sin(weight.detach() + step)
        optimizer.step()
    return weight.detach()


@pytest.mark.parametrize(
    ("rate", "schedule", "num_steps", "expected"),
    [
        (0.1, {"warmup_fraction": 0.0, "decay": "constant"}, 400, 0.75),  # from update 101 on
        (0.01, {"warmup_steps": 10_000, "decay": "inverse_sqrt"}, 20_000, 0.0),  # T5's own
        (0.01, {"warmup_fraction": 0.0, "decay": "constant"}, 40_000, 0.75),  # of a sample
        (0.01, {"warmup_fraction": 0.0, "decay": "linear"}, 10_000, 0.0),
    ],
)
def test_shares_by_hand(rate: float, schedule: Any, num_steps: int, expected: float) -> None:
    found = share_capped(rate, Schedule(**schedule), num_steps)
    assert found == pytest.approx(expected, abs=0.005)


def test_stable_adamw_is_the_algorithm() -> None:
    """Wortsman et al. 2023, algorithm 2: the betas are debiased, and the step is divided by the
    root mean square of gradient over second moment where that is above 1."""
    m = v = torch.zeros_like(MATRIX)
    expected, (beta1, beta2), eps = MATRIX, (0.9, 0.98), 1e-6
    for step, gradient in enumerate(GRADIENTS, 1):
        b1 = beta1 * (1 - beta1 ** (step - 1)) / (1 - beta1**step)
        b2 = beta2 * (1 - beta2 ** (step - 1)) / (1 - beta2**step)
        m, v = b1 * m + (1 - b1) * gradient, b2 * v + (1 - b2) * gradient**2
        rms = (gradient**2 / v.clamp(min=eps**2)).mean().sqrt()
        rate = 0.01 / max(1.0, rms.item())
        expected = expected - rate * 0.1 * expected - rate * m / (v.sqrt() + eps)
    found = follow("stable_adamw", MATRIX, beta1=beta1, beta2=beta2)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_muon_moves_a_matrix_by_an_orthogonal_one() -> None:
    """Of the size of AdamW's updates: singular values of about 0.2 sqrt(max(rows, columns)) x rate
    (Liu et al. 2025, equation 4); the iteration makes them 0.7 to 1.2 (Jordan et al. 2024)."""
    layer = nn.Linear(64, 96, bias=False)
    before = layer.weight.detach().clone()
    settings = Optimizer(kind="muon", learning_rate=0.01, weight_decay=0.0)
    optimizer = make_optimizer(layer, settings)
    layer.weight.grad = torch.randn(96, 64)
    optimizer.step()
    values = torch.linalg.svdvals(before - layer.weight.detach()) / (0.01 * 0.2 * 96**0.5)
    assert values.min() > 0.6 and values.max() < 1.25


def test_adamw_moves_what_muon_does_not() -> None:
    expected = follow("adamw", VECTOR, beta2=0.98)
    torch.testing.assert_close(follow("muon", VECTOR, beta2=0.98), expected, rtol=1e-5, atol=1e-5)


def test_adagrad_is_the_algorithm() -> None:
    """Duchi et al. 2011, figure 1 with diagonal matrices, from a sum that is not 0."""
    total, expected = torch.full_like(VECTOR, ADAGRAD_SUM), VECTOR
    for gradient in GRADIENTS:
        total = total + gradient[:, 0] ** 2
        expected = expected - RATES["adagrad"] * gradient[:, 0] / total.sqrt()
    torch.testing.assert_close(follow("adagrad", VECTOR), expected, rtol=1e-4, atol=1e-5)


def test_elmo_is_trained_as_by_bilm() -> None:
    """allenai/bilm-tf, training.py: the gradient of half the sum of both losses times 20 steps is
    clipped to a norm of 10, and Adagrad starts from 1. Ours is the gradient of the sum."""
    layer, settings, norms = nn.Linear(1, 6), RECIPES["elmo"].optimizer, []
    layer.bias.data, total, expected = VECTOR.clone(), torch.ones_like(VECTOR), VECTOR
    optimizer = make_optimizer(layer, settings)
    for gradient in GRADIENTS:
        theirs = 20 * (0.5 * gradient[:, 0])
        norms.append(float(theirs.norm()))
        theirs = theirs * min(1.0, 10 / norms[-1])
        total = total + theirs**2
        expected = expected - 0.2 * theirs / total.sqrt()
        layer.bias.grad = gradient[:, 0].clone()
        nn.utils.clip_grad_norm_([layer.bias], settings.max_grad_norm)
        optimizer.step()
    assert max(norms) > 10 > min(norms)
    torch.testing.assert_close(layer.bias.detach(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("momentum", [None, 0.5])
def test_sgd_with_and_without_momentum(momentum: float | None) -> None:
    velocity, expected = torch.zeros_like(VECTOR), VECTOR
    for gradient in GRADIENTS:
        velocity = (momentum or 0.0) * velocity + gradient[:, 0]
        expected = expected - RATES["sgd"] * velocity
    torch.testing.assert_close(follow("sgd", VECTOR, momentum=momentum), expected)
