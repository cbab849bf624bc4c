"""Recurrent networks of one and both directions: against torch with its weights; who sees what."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from harness.models import FAMILIES, Architecture, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.recurrent import BiLstm, Lstm
from harness.pretraining.learners.token_prediction import TokenPrediction
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.sample_rows import sample_rows
from harness.pretraining.objectives.targets import assemble
from harness.pretraining.objectives.transforms import apply_transform
from tests.models.counts.head_parameters import count_trained_parameters
from tests.models.networks import mean_loss, overfit

TOKENS = Tokens(vocab_size=50, pad=0, start=1, end=2, pieces=tuple(map(str, range(50))))
BOTH = pytest.mark.parametrize("family", ["lstm", "bilstm"])
CELLS: dict[str | None, Any] = {None: nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
EACH_CELL = pytest.mark.parametrize("cell", CELLS)
LENGTHS = [9, 4, 6]


def make(family: str, num_layers: int = 3, **architecture: object) -> Backbone:
    wide = {"family": family, "initializer_range": 0.5, **architecture}
    size = Size(num_layers=num_layers, hidden_size=16, num_heads=1, intermediate_size=8)
    representation = FAMILIES[family].representations[0]
    return build(Architecture.model_validate(wide), size, TOKENS, representation, seed=0).eval()


def rows() -> tuple[Tensor, Tensor]:
    """[B, T] tokens and mask, with rows of different lengths."""
    ids = torch.randint(3, 50, (3, 9), generator=torch.Generator().manual_seed(0))
    mask = (torch.arange(9) < torch.tensor(LENGTHS)[:, None]).long()
    return ids * mask, mask


def torchs(network: Lstm, number: int, cell: str | None = None) -> nn.RNNBase:
    """torch's network of the directions of one layer, with its weights."""
    layers = [network.forward_layers]
    if isinstance(network, BiLstm):
        layers.append(network.backward_layers)
    inputs = layers[0][number].input_size
    two = len(layers) > 1
    found: nn.RNNBase = CELLS[cell](inputs, 16 // len(layers), batch_first=True, bidirectional=two)
    weights: dict[str, Any] = {}
    for stack, suffix in zip(layers, ("", "_reverse"), strict=False):
        weights |= {f"{name}{suffix}": w for name, w in stack[number].state_dict().items()}
    found.load_state_dict(weights)
    return found


@BOTH
@EACH_CELL
@torch.no_grad()
def test_states_are_those_of_torch(family: str, cell: str | None) -> None:
    """Sequences packed, so that torch reads no padding; residual sums from the second layer on."""
    backbone, (ids, mask) = make(family, cell=cell), rows()
    network = backbone.network
    assert isinstance(network, Lstm)
    states = network.embeddings(ids)
    expected = [states]
    for number in range(3):
        packed = pack_padded_sequence(states, torch.tensor(LENGTHS), True, enforce_sorted=False)
        outputs, _ = pad_packed_sequence(torchs(network, number, cell)(packed)[0], batch_first=True)
        states = outputs + states if number else outputs
        expected.append(states)
    found = backbone(ids, mask, output_hidden_states=True)
    assert found.hidden_states is not None and len(found.hidden_states) == len(expected)
    real = mask.bool()
    for mine, theirs in zip(found.hidden_states, expected, strict=True):
        torch.testing.assert_close(mine[real], theirs[real])
    torch.testing.assert_close(found.last_hidden_state[real], expected[-1][real])


@torch.no_grad()
def test_torch_has_the_same_network_of_one_layer() -> None:
    """Dai and Le 2015: one layer, so no residual sum."""
    backbone, (ids, _) = make("lstm", num_layers=1), rows()
    network = backbone.network
    assert isinstance(network, Lstm)
    expected = torchs(network, 0)(network.embeddings(ids))[0]
    torch.testing.assert_close(backbone(ids).last_hidden_state, expected)


@pytest.mark.parametrize(
    ("family", "num_layers", "forward", "backward"),
    [
        ("lstm", 2, range(4, 8), range(4, 8)),
        ("bilstm", 1, range(4, 8), range(5)),
        ("bilstm", 2, range(8), range(8)),
    ],
)
@torch.no_grad()
def test_what_a_token_reaches(
    family: str, num_layers: int, forward: range, backward: range
) -> None:
    """Positions at which each half of the states changes with token 4."""
    backbone, ids = make(family, num_layers), rows()[0][:1, :8]
    other = ids.clone()
    other[0, 4] = 49 if ids[0, 4] != 49 else 48
    moved = backbone(ids).last_hidden_state[0] != backbone(other).last_hidden_state[0]
    halves = [half.any(-1).nonzero().flatten().tolist() for half in moved.chunk(2, -1)]
    assert halves == [[*forward], [*backward]]


@BOTH
@pytest.mark.parametrize(
    "architecture",
    [
        {},
        {"tie_embeddings": False},
        {"embedding_size": 12},
        {"cell": "gru"},
        {"cell": "rnn"},
        {"characters": 9},
    ],
)
def test_it_is_saved_whole_and_counted(
    family: str, architecture: dict[str, Any], tmp_path: Path
) -> None:
    backbone = make(family, **architecture)
    backbone.save(tmp_path)
    again, (ids, _) = load(tmp_path).eval(), rows()
    states = backbone(ids).last_hidden_state
    assert torch.equal(states, again(ids).last_hidden_state)
    assert torch.equal(backbone.token_logits(states), again.token_logits(states))
    declared = Architecture.model_validate({"family": family, **architecture})
    size = Size(num_layers=3, hidden_size=16, num_heads=1, intermediate_size=8)
    count = count_trained_parameters(declared, size, 50)
    assert sum(p.numel() for p in backbone.parameters()) == count


@torch.no_grad()
def test_a_sequence_autoencoder_is_an_encoder_and_a_decoder_with_its_weights() -> None:
    """Dai and Le 2015, section 2: the decoder goes on from the encoder's last state."""
    backbone = make("lstm", num_layers=1)
    network = backbone.network
    assert isinstance(network, Lstm)
    rng = np.random.default_rng(0)
    made, vocabulary = sample_rows(5, 7, rng)
    objective = OBJECTIVES["sequence_autoencoder"]
    assert isinstance(objective, Objective)
    result = apply_transform(objective.transform, made, rng, vocabulary)
    batch = assemble(made, result, objective, None, vocabulary, 0)
    source, row = torch.from_numpy(made.tokens[:1]), torch.from_numpy(batch["input_ids"][:1])
    lstm, target = torchs(network, 0), row[:, 7:13]
    assert target.tolist() == [[*made.tokens[0, 1:6], vocabulary.sep]]
    encoded, state = lstm(network.embeddings(source))
    decoded, _ = lstm(network.embeddings(target[:, :-1]), state)
    expected = torch.cat((encoded[:, -1:], decoded), 1)[0]
    positions = batch["positions"][:6]
    states = backbone(row).last_hidden_state[0, positions]
    torch.testing.assert_close(states, expected)
    assert batch["targets"][:6].tolist() == target[0].tolist()


@pytest.mark.parametrize("cell", ["gru", "rnn"])
@torch.no_grad()
def test_a_step_of_a_cell(cell: str) -> None:
    """Elman 1990, h = tanh(W x + U h'); Cho et al. 2014, section 2.3, with the reset gate behind U,
    as in torch."""
    backbone, (ids, _) = make("lstm", num_layers=1, cell=cell), rows()
    network: Any = backbone.network
    (layer,), words = network.forward_layers, network.embeddings(ids[0])
    state, states = torch.zeros(16), []
    for word in words:
        read, kept = layer.weight_ih_l0 @ word, layer.weight_hh_l0 @ state
        if cell == "rnn":
            state = torch.tanh(read + kept)
        else:
            (r, z, new), (r_, z_, old) = read.chunk(3), kept.chunk(3)
            z, proposed = torch.sigmoid(z + z_), torch.tanh(new + torch.sigmoid(r + r_) * old)
            state = (1 - z) * proposed + z * state
        states.append(state)
    torch.testing.assert_close(backbone(ids).last_hidden_state[0], torch.stack(states))


@EACH_CELL
def test_all_cells_start_alike(cell: str | None) -> None:
    """Xavier-uniform weights (Glorot and Bengio 2010) and no biases, whatever torch's own are."""
    network: Any = make("lstm", cell=cell).network
    for layer in network.forward_layers:
        assert not layer.bias_ih_l0.any() and not layer.bias_hh_l0.any()
        bound = (6 / sum(layer.weight_hh_l0.shape)) ** 0.5
        assert 0.9 * bound < float(layer.weight_hh_l0.detach().abs().max()) <= bound


def test_a_cell_of_another_family_is_refused() -> None:
    with pytest.raises(ValueError, match="cell belongs to lstm, bilstm, elmo, but family is bert"):
        Architecture.model_validate({"family": "bert", "cell": "gru"})
    with pytest.raises(ValueError, match='cell of a elmo is "lstm" anyway; leave it out'):
        Architecture.model_validate({"family": "elmo", "cell": "lstm"})


@pytest.mark.parametrize(("family", "offset"), [("lstm", 1), ("bilstm", 0)])
@EACH_CELL
def test_it_learns(family: str, offset: int, cell: str | None) -> None:
    """The next tokens, or tokens behind a mask."""
    backbone, (ids, mask) = make(family, num_layers=2, cell=cell), rows()
    real = mask.bool()
    predicted = real.clone()
    predicted[:, 0] = False
    hidden = predicted & (torch.arange(9) % 3 == 1) if family == "bilstm" else predicted
    batch = {
        "input_ids": ids.masked_fill(hidden, 3) if family == "bilstm" else ids,
        "attention_mask": mask,
        "positions": hidden.flatten().nonzero().flatten() - offset,
        "targets": ids[hidden],
    }
    objective = OBJECTIVES["clm" if family == "lstm" else "mlm"]
    learner = TokenPrediction(backbone, objective.components[0][1:], 0.02).train()
    first = float(mean_loss(learner, batch))
    assert overfit(learner, batch, steps=120) < 0.2 * first
