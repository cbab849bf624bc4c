"""Attention by products: equals torch's kernel up to rounding, in every family that calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from harness.models import FAMILIES, MODELS, ROTARY, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.cpu_attention import NAME, attend, attend_by_products

SIZE = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=128)
NETWORKS = [
    (name, reading)
    for name, facts in FAMILIES.items()
    if facts.kind not in ("baseline", "checkpoint")
    for reading in facts.representations
]
CALL_THE_KERNEL = {
    *("bert", "roberta", "electra", "albert", "modernbert", "gpt2", "opt", "bart"),
    *ROTARY,
}


class Attention(nn.Module):
    """What the functions read of a module."""

    def __init__(self, groups: int, causal: bool) -> None:
        super().__init__()
        self.num_key_value_groups, self.is_causal = groups, causal


def tensors(*shapes: tuple[int, ...], dtype: torch.dtype) -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]


@settings(deadline=None, max_examples=40)
@given(
    length=st.integers(1, 9),
    keys=st.integers(1, 9),
    groups=st.sampled_from([1, 2]),
    causal=st.booleans(),
    mask=st.sampled_from(["none", "bool", "additive"]),
    bias=st.booleans(),
    scaling=st.sampled_from([None, 0.3]),
)
def test_equals_the_kernel_up_to_rounding(
    length: int, keys: int, groups: int, causal: bool, mask: str, bias: bool, scaling: float | None
) -> None:
    """Outputs and gradients in bf16 are as far from those in float32 as the kernel's are."""
    keys = length if causal and mask == "none" else keys
    module = Attention(groups, causal)
    shapes = [(2, 4, length, 8), *[(2, 4 // groups, keys, 8)] * 2]
    seen = torch.rand(2, 1, length, keys) < 0.7
    seen[..., 0] = True
    masks = {"none": None, "bool": seen, "additive": torch.zeros(seen.shape)}
    if mask == "additive":
        masks["additive"] = torch.zeros(seen.shape).masked_fill(~seen, -1e4)
    position_bias = torch.randn(1, 4, length, keys) if bias else None

    def run(function: Any, dtype: torch.dtype) -> list[Tensor]:
        given = tensors(*shapes, dtype=dtype)
        chosen = masks[mask]
        if chosen is not None and chosen.dtype != torch.bool:
            chosen = chosen.to(dtype)
        offset = None if position_bias is None else position_bias.to(dtype)
        out, _ = function(module, *given, chosen, scaling=scaling, position_bias=offset)
        assert out.shape == (2, length, 4, 8) and out.dtype == dtype
        return [out, *torch.autograd.grad(out.square().sum(), given)]

    exact = run(sdpa_attention_forward, torch.float32)
    ours, kernel = (run(one, torch.bfloat16) for one in (attend, sdpa_attention_forward))
    for found, torchs, reference in zip(ours, kernel, exact, strict=True):
        far = (torchs.float() - reference).abs().max()
        scale = reference.abs().max()
        assert (found.float() - reference).abs().max() <= 2 * far + 0.03 * scale


@pytest.mark.parametrize("more", [{}, {"dropout": 0.5}])
def test_float32_is_the_kernel(more: dict[str, float]) -> None:
    module, given = Attention(1, causal=False), tensors(*[(2, 2, 5, 8)] * 3, dtype=torch.float32)
    outputs = []
    functions: list[Any] = [attend, sdpa_attention_forward]
    for function in functions:
        torch.manual_seed(1)
        outputs.append(function(module, *given, None, **more)[0])
    assert torch.equal(*outputs)


def test_dropout_of_probabilities_in_bf16() -> None:
    """Values that are one-hot show the probabilities."""
    module, shape = Attention(1, causal=False), (4, 2, 64, 64)
    query, key = tensors(shape, shape, dtype=torch.bfloat16)
    value = torch.eye(64, dtype=torch.bfloat16).expand(shape)
    (whole, _), (found, _) = (
        attend(module, query, key, value, None, dropout=rate) for rate in (0.0, 0.25)
    )
    kept = found != 0
    torch.testing.assert_close(found[kept], (whole / 0.75)[kept])
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.015)  # 6 standard deviations


def made(family: str, reading: str) -> Backbone:
    tokens = Tokens(vocab_size=40, pad=0, start=2, end=3, pair_format=True)
    fields: dict[str, Any] = {"dropout": 0.0, "max_position": 64}
    fields |= {"embedding_size": 16} if family in ("albert", "electra") else {}
    return build(MODELS[family].model_copy(update=fields), SIZE, tokens, reading, seed=0).eval()


def implementation(network: Backbone) -> str:
    return str(network.network.config._attn_implementation)


@pytest.mark.parametrize(("family", "reading"), NETWORKS)
def test_every_family_is_near_its_kernel(family: str, reading: str, tmp_path: Path) -> None:
    """With padding; the saved network does not know of it."""
    network = made(family, reading)
    ids, mask = torch.randint(4, 40, (3, 12)), torch.ones(3, 12, dtype=torch.int64)
    mask[1, 7:] = 0
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)}
    if reading == "encoder_decoder":
        inputs |= {"decoder_input_ids": ids, "decoder_attention_mask": mask}
    real = mask.bool()

    def states() -> Tensor:
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            found = network(**inputs).last_hidden_state
        assert found is not None
        return found[real].float()

    before = implementation(network)
    kernel = states()
    attend_by_products(network)
    assert (implementation(network) == NAME) == (before == "sdpa")
    if family in CALL_THE_KERNEL:
        assert implementation(network) == NAME
    torch.testing.assert_close(states(), kernel, atol=0.08, rtol=0.05)
    network.save(tmp_path)
    assert NAME not in json.dumps(json.loads((tmp_path / "config.json").read_text()))
    assert implementation(load(tmp_path)) == before
