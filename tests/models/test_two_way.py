"""Two GPT-2s side by side: against transformers' own, and what each half must not see."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import GPT2Config, GPT2Model

from harness.models import MODELS, Architecture, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.two_way import TwoWay
from tests.models.counts.head_parameters import count_trained_parameters

TOKENS = Tokens(vocab_size=50, pad=0, start=1, end=2)
SIZE = Size(num_layers=2, hidden_size=32, num_heads=4, intermediate_size=48)
FAMILY = "two_way_gpt2"


def make() -> Backbone:
    wide = MODELS[FAMILY].model_copy(update={"initializer_range": 0.3, "max_position": 20})
    return build(wide, SIZE, TOKENS, "bilm", seed=0).eval()


def text(*shape: int) -> Tensor:
    return torch.randint(3, 50, shape, generator=torch.Generator().manual_seed(0))


def gpt2(network: TwoWay, direction: str) -> Any:
    """transformers' GPT-2 with the weights of one direction and the shared embeddings."""
    config: Any = GPT2Config(
        vocab_size=50, n_positions=20, n_embd=16, n_layer=2, n_head=2, n_inner=24
    )
    model: Any = GPT2Model(config).eval()
    weights = getattr(network, f"{direction}_half").state_dict()
    model.load_state_dict({**weights, "wte.weight": network.embeddings.weight})
    return model


@torch.no_grad()
def test_states_are_those_of_two_gpt2() -> None:
    backbone, ids = make(), text(3, 9)
    network = backbone.network
    assert isinstance(network, TwoWay)
    found = backbone(ids, output_hidden_states=True)
    ahead = gpt2(network, "forward")(ids, output_hidden_states=True)
    back = gpt2(network, "backward")(ids.flip(1), output_hidden_states=True)
    pairs = zip(ahead.hidden_states, back.hidden_states, strict=True)
    expected = [torch.cat((one, other.flip(1)), -1) for one, other in pairs]
    assert found.hidden_states is not None and len(found.hidden_states) == len(expected) == 3
    for mine, theirs in zip(found.hidden_states, expected, strict=True):
        torch.testing.assert_close(mine, theirs)
    torch.testing.assert_close(found.last_hidden_state, expected[-1])
    logits = ahead.last_hidden_state @ network.embeddings.weight.T
    torch.testing.assert_close(backbone.token_logits(found.last_hidden_state[..., :16]), logits)


@pytest.mark.parametrize("place", range(8))
@pytest.mark.parametrize("length", [8, 10])
@torch.no_grad()
def test_neither_half_depends_on_what_it_is_to_predict(place: int, length: int) -> None:
    """The forward half has not seen tokens on the right, the backward half none on the left; the
    same with padding."""
    backbone, ids = make(), text(1, 8)
    other = ids.clone()
    other[0, place] = 49 if ids[0, place] != 49 else 48
    mask = (torch.arange(length) < 8).long()[None]
    pad = (0, length - 8)
    one, two = (
        backbone(torch.nn.functional.pad(row, pad), mask).last_hidden_state[0, :8]
        for row in (ids, other)
    )
    forward, backward = ((one != two).any(-1).tolist() for one, two in halves(one, two))
    assert forward == [False] * place + [True] * (8 - place)
    assert backward == [True] * (place + 1) + [False] * (7 - place)


def halves(one: Tensor, two: Tensor) -> list[tuple[Tensor, Tensor]]:
    """The halves of states, pair by pair."""
    return list(zip(one.chunk(2, -1), two.chunk(2, -1), strict=True))


@torch.no_grad()
def test_padding_reaches_neither_half() -> None:
    backbone, rows = make(), text(3, 9)
    lengths = [9, 4, 6]
    mask = (torch.arange(9) < torch.tensor(lengths)[:, None]).long()
    padded = backbone(rows, mask).last_hidden_state
    for row, n, states in zip(rows, lengths, padded, strict=True):
        alone = backbone(row[None, :n]).last_hidden_state[0]
        torch.testing.assert_close(states[:n], alone, atol=2e-6, rtol=1e-5)


def test_it_is_saved_whole_and_counted(tmp_path: Path) -> None:
    backbone = make()
    backbone.save(tmp_path)
    again, ids = load(tmp_path).eval(), text(2, 6)
    states = backbone(ids).last_hidden_state
    assert torch.equal(states, again(ids).last_hidden_state)
    half = states[..., :16]
    assert torch.equal(backbone.token_logits(half), again.token_logits(half))
    count = count_trained_parameters(Architecture(family=FAMILY, max_position=20), SIZE, 50)
    assert sum(p.numel() for p in backbone.parameters()) == count
