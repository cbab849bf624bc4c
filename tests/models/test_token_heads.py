"""Cross-entropy in parts: equals torch's of all logits, with its gradients."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from peft import LoraConfig, inject_adapter_in_model
from torch import Tensor, nn
from torch.nn import functional as F

from harness.models import FAMILIES, MODELS, Size, backbone, summed_cross_entropy, token_heads
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.models.token_heads import LinearHead

SIZE = Size(num_layers=1, hidden_size=32, num_heads=2, intermediate_size=128)
PREDICTING = [
    (name, facts.representations[0])
    for name, facts in FAMILIES.items()
    if facts.kind not in ("baseline", "checkpoint")
]


def case(rows: int, bias: bool, seed: int = 0) -> tuple[nn.Linear, Tensor, Tensor]:
    torch.manual_seed(seed)
    output = nn.Linear(6, 11, bias=bias)
    return output, torch.randn(rows, 6, requires_grad=True), torch.randint(0, 11, (rows,))


def gradients(loss: Tensor, output: nn.Linear, states: Tensor) -> list[Tensor]:
    wanted = [states, *output.parameters()]
    return [loss.detach(), *torch.autograd.grad(3.0 * loss, wanted)]


@settings(deadline=None, max_examples=30)
@given(rows=st.integers(0, 9), part=st.integers(1, 10), bias=st.booleans())
def test_equals_the_cross_entropy_of_all_logits(rows: int, part: int, bias: bool) -> None:
    output, states, targets = case(rows, bias)
    head = LinearHead(output.weight, output.bias, torch.tanh)
    whole = F.cross_entropy(head(states), targets, reduction="sum")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(summed_cross_entropy.PART_OF_CPU, torch.float32, part * 11)
        parts = head.cross_entropy(states, targets)
    for found, expected in zip(
        gradients(parts, output, states), gradients(whole, output, states), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_autocast_rounds_as_torch_does() -> None:
    """To bf16 are rounded the operands of products, and the logits and their gradients."""
    output, states, targets = case(300, bias=True)
    head = LinearHead(output.weight, output.bias)
    with torch.autocast("cpu", torch.bfloat16):
        whole = F.cross_entropy(head(states).float(), targets, reduction="sum")
        parts = head.cross_entropy(states, targets)
    assert parts.dtype == torch.float32
    both = [gradients(loss, output, states) for loss in (parts, whole)]
    exact = gradients(F.cross_entropy(head(states), targets, reduction="sum"), output, states)
    for found, torchs, reference in zip(*both, exact, strict=True):
        assert found.dtype == reference.dtype
        far = (torchs - reference).abs().max()
        assert (found - reference).abs().max() <= 2 * far + 1e-6
        torch.testing.assert_close(found, torchs, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_on_a_cpu_as_elsewhere(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    output, states, targets = case(50, bias=True)
    monkeypatch.setitem(summed_cross_entropy.PART_OF_CPU, dtype, 16 * 11)
    monkeypatch.setattr(summed_cross_entropy, "PART_OF_GPU", 16)

    def found() -> list[Tensor]:
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            return gradients(
                LinearHead(output.weight, output.bias).cross_entropy(states, targets),
                output,
                states,
            )

    on_cpu = found()
    monkeypatch.setattr(summed_cross_entropy, "_sums_on_cpu", summed_cross_entropy._sums)
    tolerance = 1e-6 if dtype == torch.float32 else 2e-2
    for one, other in zip(on_cpu, found(), strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_targets_without_probability(dtype: torch.dtype) -> None:
    """Their losses are those of the logits, however small the probability."""
    output, states, targets = case(7, bias=True)
    with torch.no_grad():
        output.bias[targets[:3]] -= 1000.0
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        found = LinearHead(output.weight, output.bias).cross_entropy(states, targets)
        whole = F.cross_entropy(output(states).float(), targets, reduction="sum")
    assert found > 2000
    torch.testing.assert_close(found, whole, rtol=1e-3, atol=0.0)


def test_no_number_is_hidden() -> None:
    """A loss that is not finite stays so."""
    output, states, targets = case(3, bias=False)
    with torch.no_grad():
        output.weight[0, 0] = torch.nan
    assert LinearHead(output.weight, output.bias).cross_entropy(states, targets).isnan()


def test_weights_that_are_not_trained_have_no_gradient() -> None:
    output, states, targets = case(4, bias=True)
    output.requires_grad_(False)
    LinearHead(output.weight, output.bias).cross_entropy(states, targets).backward()
    assert output.weight.grad is None and states.grad is not None


def made(family: str, reading: str) -> Backbone:
    tokens = Tokens(vocab_size=40, pad=0, start=2, end=3, pair_format=True)
    fields = {"embedding_size": 16} if family in ("albert", "electra") else {}
    return build(MODELS[family].model_copy(update=fields), SIZE, tokens, reading, seed=0).eval()


@pytest.mark.parametrize(("family", "reading"), PREDICTING)
def test_every_family_has_the_loss_of_its_logits(
    family: str, reading: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = made(family, reading)
    width = SIZE.hidden_size // (2 if reading == "bilm" else 1)
    states, targets = torch.randn(7, width), torch.randint(0, 40, (7,))
    expected = F.cross_entropy(network.token_logits(states), targets, reduction="sum")
    for least in (0, 10**9):
        monkeypatch.setattr(backbone, "MIN_LOGITS", least)
        torch.testing.assert_close(network.token_loss(states, targets), expected)
        with torch.no_grad():
            torch.testing.assert_close(network.token_loss(states, targets), expected)


@pytest.mark.parametrize(
    ("family", "reading", "target", "head"),
    [
        ("gpt2", "causal", "lm_head", lambda n: n.lm_head),
        ("bart", "encoder_decoder", "lm_head", lambda n: n.lm_head),
        ("bert", "bidirectional", ".*decoder", lambda n: n.cls.predictions),
        ("xlnet", "permuted", "lm_loss", lambda n: n.lm_loss),
    ],
)
@pytest.mark.filterwarnings("ignore:Model has `tie_word_embeddings=True`")
def test_an_adapted_output_layer_is_read_with_its_update(
    family: str, reading: str, target: str, head: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LoRA's targets may name it."""
    monkeypatch.setattr(backbone, "MIN_LOGITS", 0)
    network = made(family, reading)
    states, targets = torch.randn(7, SIZE.hidden_size), torch.randint(0, 40, (7,))
    before = network.token_logits(states)
    config = LoraConfig(r=2, target_modules=target, init_lora_weights=False)
    inject_adapter_in_model(config, network.network)
    logits = network.token_logits(states)
    torch.testing.assert_close(logits, head(network.network)(states))
    assert not torch.allclose(logits, before)
    loss, hits = network.token_loss_and_hits(states, targets)
    torch.testing.assert_close(loss, F.cross_entropy(logits, targets, reduction="sum"))
    assert hits.equal(logits.argmax(1) == targets)


@pytest.mark.parametrize(("family", "reading"), PREDICTING)
def test_every_family_has_the_most_likely_tokens_of_its_logits(
    family: str, reading: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = made(family, reading)
    width = SIZE.hidden_size // (2 if reading == "bilm" else 1)
    states = torch.randn(7, width)
    logits = network.token_logits(states)
    targets = logits.argmax(1)
    targets[::2] += 1  # of these, none is the most likely one
    targets %= 40
    expected = F.cross_entropy(logits, targets, reduction="sum")
    monkeypatch.setattr(token_heads, "LOGITS_AT_ONCE", 3 * 40)
    for least in (0, 10**9):
        monkeypatch.setattr(backbone, "MIN_LOGITS", least)
        loss, hits = network.token_loss_and_hits(states, targets)
        torch.testing.assert_close(loss, expected)
        assert hits.tolist() == [False, True] * 3 + [False]
        assert hits.grad_fn is None


@pytest.mark.parametrize(
    ("bf16", "trains", "parts"), [(False, True, 0), (True, True, 1), (True, False, 0)]
)
def test_parts_are_taken_in_bf16_from_fewer_logits_and_in_training_alone(
    bf16: bool, trains: bool, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Tensor] = []
    monkeypatch.setattr(LinearHead, "cross_entropy", lambda head, states, _: taken.append(states))
    network = made("bert", "bidirectional")
    states, targets = torch.randn(7, SIZE.hidden_size), torch.randint(0, 40, (7,))
    monkeypatch.setattr(backbone, "MIN_LOGITS_IN_BF16", 7 * 40)
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16), torch.set_grad_enabled(trains):
        network.token_loss(states, targets)
    assert len(taken) == parts


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_that_are_added_for_a_gpu_change_nothing(
    monkeypatch: pytest.MonkeyPatch, bias: bool, dtype: torch.dtype
) -> None:
    output, states, targets = case(5, bias)
    head = LinearHead(output.weight, output.bias)
    padded = summed_cross_entropy._padded(output.weight, output.bias)

    def loss() -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            return head.cross_entropy(states, targets)

    expected = gradients(loss(), output, states)
    monkeypatch.setattr(summed_cross_entropy, "MULTIPLE", {"cpu": 8})
    longer, offset = summed_cross_entropy._padded(output.weight, output.bias)
    assert (len(padded[0]), len(longer)) == (11, 16)
    assert offset is not None and bool(torch.isneginf(offset[11:]).all())
    for found, one in zip(gradients(loss(), output, states), expected, strict=True):
        torch.testing.assert_close(found, one, rtol=1e-5, atol=1e-6)
