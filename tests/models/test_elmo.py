"""ELMo: against torch's LSTMs run by hand; who sees what."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from harness.models import Architecture, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.recurrent import Elmo, reversal
from tests.models.counts.head_parameters import count_trained_parameters

TOKENS = Tokens(vocab_size=50, pad=0, start=1, end=2)
SIZE = Size(num_layers=3, hidden_size=16, num_heads=1, intermediate_size=8)


def make(**architecture: object) -> Backbone:
    wide = {"initializer_range": 0.5, **architecture}
    elmo = Architecture.model_validate({"family": "elmo", **wide})
    return build(elmo, SIZE, TOKENS, "bilm", seed=0).eval()


def ids(*shape: int) -> Tensor:
    return torch.randint(3, 50, shape, generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def by_hand(network: Elmo, row: Tensor) -> list[Tensor]:
    """States [T, H] of each layer for one sequence [T] without padding."""
    x = network.embeddings(row)
    layers = [torch.cat((x, x), -1)]
    ahead, back = x, x.flip(0)
    pairs = zip(network.forward_layers, network.backward_layers, strict=True)
    for number, (forward, backward) in enumerate(pairs):
        ahead = forward(ahead)[0] + (ahead if number else 0)
        back = backward(back)[0] + (back if number else 0)
        layers.append(torch.cat((ahead, back.flip(0)), -1))
    return layers


@pytest.mark.parametrize("cell", [None, "gru", "rnn"])
@torch.no_grad()
def test_states_are_those_of_torchs_cells(cell: str | None) -> None:
    backbone, row = make(cell=cell), ids(7)
    network = backbone.network
    assert isinstance(network, Elmo)
    states = backbone(row[None], output_hidden_states=True)
    expected = by_hand(network, row)
    assert states.hidden_states is not None and len(states.hidden_states) == 4
    for mine, theirs in zip(states.hidden_states, expected, strict=True):
        torch.testing.assert_close(mine[0], theirs)
    torch.testing.assert_close(states.last_hidden_state[0], expected[-1])


@torch.no_grad()
def test_padding_reaches_neither_reader() -> None:
    backbone, rows = make(), ids(3, 9)
    lengths = [9, 4, 6]
    mask = torch.tensor([[1] * n + [0] * (9 - n) for n in lengths])
    padded = backbone(rows, mask).last_hidden_state
    for row, n, states in zip(rows, lengths, padded, strict=True):
        torch.testing.assert_close(states[:n], backbone(row[None, :n]).last_hidden_state[0])


@torch.no_grad()
def test_no_reader_sees_what_it_is_to_name() -> None:
    backbone, row = make(), ids(1, 8)
    changed = row.clone()
    changed[0, 4] = 49 if row[0, 4] != 49 else 48
    same = backbone(row).last_hidden_state[0] == backbone(changed).last_hidden_state[0]
    forward, backward = (half.all(-1).tolist() for half in same.chunk(2, -1))
    assert forward == [True] * 4 + [False] * 4
    assert backward == [False] * 5 + [True] * 3


def test_a_reversal_turns_the_text_and_not_the_padding() -> None:
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    assert reversal(mask, mask).tolist() == [[2, 1, 0, 3, 4], [4, 3, 2, 1, 0]]
    assert reversal(mask, None).tolist() == [[4, 3, 2, 1, 0]] * 2


@pytest.mark.parametrize(
    "architecture",
    [{}, {"tie_embeddings": False}, {"embedding_size": 12}, {"cell": "gru"}, {"cell": "rnn"}],
)
def test_it_is_saved_whole_and_counted(architecture: dict[str, object], tmp_path: Path) -> None:
    backbone = make(**architecture)
    backbone.save(tmp_path)
    again, row = load(tmp_path).eval(), ids(2, 6)
    states = backbone(row).last_hidden_state
    assert torch.equal(states, again(row).last_hidden_state)
    half = states[..., :8]
    assert torch.equal(backbone.token_logits(half), again.token_logits(half))
    counted = count_trained_parameters(
        Architecture.model_validate({"family": "elmo", **architecture}), SIZE, 50
    )
    assert sum(p.numel() for p in backbone.parameters()) == counted


def test_embeddings_of_another_width_are_no_layer_of_the_states() -> None:
    states = make(embedding_size=12)(ids(1, 4), output_hidden_states=True).hidden_states
    assert states is not None and [s.shape[-1] for s in states] == [16, 16, 16]
