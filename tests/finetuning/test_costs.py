"""Costs of adaptations, and that saved weights restore predictions."""

import gc
import weakref
from itertools import product
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.adapted_weights import WEIGHTS, load_adapted, save_adapted
from harness.finetuning.costs import Costs, _kept_for_backward, measure
from harness.finetuning.inputs import Batch
from tests.covering import thinned
from tests.finetuning.methods.models import adapted, batch, learn, merge, trained

LAST = 100
"""An epoch after the last unfreezing."""
TRAINING = [name for name, value in ADAPTATIONS.items() if value.trains]


def loss(outputs: torch.Tensor, one: Batch) -> torch.Tensor:
    return F.cross_entropy(outputs, one["labels"])


def costs(adaptation: str) -> Costs:
    return measure(adapted("bert", ADAPTATIONS[adaptation]), loss, batch(), LAST)


@pytest.mark.parametrize("adaptation", TRAINING)
def test_saved_weights_are_those_trained_and_restore_predictions(
    adaptation: str, tmp_path: Path
) -> None:
    method, one = ADAPTATIONS[adaptation], batch()
    model = adapted("bert", method)
    expected = set(trained(model))
    figures = measure(model, loss, one, LAST)
    assert set(trained(model)) == expected  # as it was
    learn(model, one, 1e-2)
    save_adapted(model, method, tmp_path)
    kept = load_file(tmp_path / WEIGHTS)
    assert expected == set(kept) - {n for n, _ in model.named_buffers()}
    assert figures.stored_bytes == sum(t.numel() * t.element_size() for t in kept.values())
    again = adapted("bert", method, seed=5)
    load_adapted(again, method, tmp_path)
    with torch.no_grad():
        assert torch.equal(model.eval()(one), again.eval()(one))
    with pytest.raises(ValueError, match="holds the adaptation"):
        load_adapted(again, ADAPTATIONS["prompt"], tmp_path)


def test_measuring_keeps_nothing() -> None:
    """A graph whose saved outputs hold the graph is never freed, nor are the model's parameters."""
    model = adapted("bert", ADAPTATIONS["full"])
    held = [weakref.ref(parameter) for parameter in model.parameters()]
    assert _kept_for_backward(model, loss, batch()) > 0
    del model
    gc.collect()
    assert held and not [one for one in held if one() is not None]


def test_measuring_disturbs_nothing() -> None:
    model = adapted("bert", ADAPTATIONS["frozen"])
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.random.get_rng_state()
    first = measure(model, loss, batch(), LAST)
    assert first == measure(model, loss, batch(), LAST)
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(before[n], value) for n, value in model.state_dict().items())


def test_memory_by_hand() -> None:
    """A linear layer on frozen states keeps only its input: rows x 32 floats of 4 bytes."""
    figures = costs("frozen_top")
    model = adapted("bert", ADAPTATIONS["frozen_top"])
    everything = [*model.parameters(), *model.buffers()]
    weights = sum(t.numel() * t.element_size() for t in everything)
    head = 4 * (32 * 2 + 2)
    at_least = weights + 3 * head + 8 * 32 * 4
    assert at_least <= figures.peak_memory_bytes < at_least + 8_000
    assert figures.trained_parameters == 32 * 2 + 2


def test_parameter_efficient_methods_cost_less() -> None:
    full = costs("full")
    for name in (
        "lora",
        "dora",
        "adalora",
        "oft",
        "boft",
        "ia3",
        "prefix",
        "prompt_tuning",
        "biases",
    ):
        small = costs(name)
        assert small.stored_bytes < full.stored_bytes / 5
        longer = name == "prompt_tuning"  # an input of 30 and not of 10 tokens
        assert longer or small.peak_memory_bytes < full.peak_memory_bytes


def test_shared_random_matrices_are_counted_once() -> None:
    """Those of VeRA, A [256, 32] and B [32, 256], are weights that nothing trains or stores."""
    one, head = costs("vera"), 32 * 2 + 2
    assert one.trained_parameters == head + 4 * (32 + 256)
    assert one.stored_bytes == 4 * one.trained_parameters
    model = adapted("bert", ADAPTATIONS["vera"])
    buffers = {name: value for name, value in model.named_buffers() if "vera" in name}
    assert sorted(value.shape for value in buffers.values()) == [(32, 256), (256, 32)]
    before = [tensor.nbytes for tensor in adapted("bert", ADAPTATIONS["full"]).buffers()]
    assert sum(tensor.nbytes for tensor in model.buffers()) == sum(before) + 2 * 4 * 256 * 32


NETWORKS = ("bert", "gpt2", "t5", "deberta_v3", "modernbert", "albert")
MERGED = ("lora", "rslora", "dora", "adalora", "vera", "oft", "boft", "ia3")
REFUSED = (("gpt2", "oft"), ("gpt2", "boft"))


@pytest.mark.parametrize(
    ("network", "adaptation"),
    thinned([one for one in product(NETWORKS, MERGED) if one not in REFUSED], 3),
)
def test_merged_equals_unmerged(network: str, adaptation: str) -> None:
    model, one = adapted(network, ADAPTATIONS[adaptation]), batch()
    names = {n for n, _ in adapted(network, ADAPTATIONS["full"]).named_parameters()}
    learn(model, one, 1e-2)
    with torch.no_grad():
        unmerged = model.eval()(one)
        merge(model)
        torch.testing.assert_close(model(one), unmerged, atol=1e-4, rtol=1e-4)
    assert {n for n, _ in model.named_parameters()} == names
