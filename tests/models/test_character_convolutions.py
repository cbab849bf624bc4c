"""Character convolutions: against a loop over tokens and windows, and ELMo's published size."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from harness.models import Architecture, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.models.character_convolutions import CharacterConvolutions, spelled
from harness.models.counts.characters import multiply_adds, num_filters, num_parameters
from harness.models.embedding_noise import perturb
from harness.models.token_tables import token_tables
from harness.pretraining.learners.token_prediction import BiLM
from tests.models.networks import mean_loss, overfit

TEXTS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]", "cat", "cats", "##s", "longest words", "longest word")
TOKENS = Tokens(vocab_size=len(TEXTS), pad=0, start=1, end=2, pieces=TEXTS)
SIZE = Size(num_layers=2, hidden_size=32, num_heads=1, intermediate_size=8)
LENGTH = 13


def embeddings(width: int = 16) -> CharacterConvolutions:
    torch.manual_seed(0)
    made = CharacterConvolutions(len(TEXTS), width, LENGTH)
    made.spell(TEXTS)
    return made


def elmo(**fields: object) -> Backbone:
    architecture = {"family": "elmo", "characters": LENGTH, "dropout": 0, **fields}
    return build(Architecture.model_validate(architecture), SIZE, TOKENS, "bilm", seed=0)


def plain(made: CharacterConvolutions, text: str) -> Tensor:
    """[E] of a token, window by window (Kim et al. 2016, equations 2, 3 and 8)."""
    numbers = [257, *(1 + byte for byte in text.encode()[: LENGTH - 2]), 258]
    numbers += [0] * (LENGTH - len(numbers))
    read = made.characters.weight[numbers]
    found = []
    for convolution in made.convolutions:
        assert isinstance(convolution, nn.Conv1d) and convolution.bias is not None
        for filter_, bias in zip(convolution.weight, convolution.bias, strict=True):
            width = filter_.shape[1]
            windows = [read[i : i + width] for i in range(LENGTH - width + 1)]
            found.append(max((w * filter_.T).sum() + bias for w in windows).clamp(min=0))
    vector = torch.stack(found)
    highway: Any
    for highway in made.highways:
        gate = torch.sigmoid(highway.gate.weight @ vector + highway.gate.bias)
        new = torch.relu(highway.transform.weight @ vector + highway.transform.bias)
        vector = gate * new + (1 - gate) * vector
    projected: Tensor = made.projection.weight @ vector + made.projection.bias
    return projected


@torch.no_grad()
def test_vectors_are_those_of_a_loop() -> None:
    made, ids = embeddings(), torch.tensor([[4, 5, 4, 0], [7, 3, 6, 5]])
    expected = torch.stack([torch.stack([plain(made, TEXTS[i]) for i in row]) for row in ids])
    torch.testing.assert_close(made(ids), expected)


def test_spelling() -> None:
    """UTF-8 between marks of the ends; longer tokens are cut, and keep both marks."""
    assert spelled(["", "aé", "abcdefg"], 7).tolist() == [
        [257, 258, 0, 0, 0, 0, 0],
        [257, 98, 196, 170, 258, 0, 0],
        [257, 98, 99, 100, 101, 102, 258],
    ]


@torch.no_grad()
def test_a_token_has_one_vector_whatever_is_beside_it() -> None:
    made = embeddings()
    both = made(torch.tensor([[4, 7, 8]]))[0]
    torch.testing.assert_close(made(torch.tensor([4]))[0], both[0])
    assert torch.equal(both[1], both[2])  # equal up to the cut
    assert not torch.equal(both[0], made(torch.tensor([5]))[0])


def test_gradients_are_those_of_every_token_by_itself() -> None:
    """A token that stands twice counts twice."""
    made, ids = embeddings(), torch.tensor([4, 5, 4])
    made(ids).square().sum().backward()
    found = {name: p.grad.clone() for name, p in made.named_parameters() if p.grad is not None}
    made.zero_grad()
    for one in ids:
        made(one[None]).square().sum().backward()
    assert set(found) == {name for name, _ in made.named_parameters()}
    for name, parameter in made.named_parameters():
        torch.testing.assert_close(parameter.grad, found[name])


def test_the_size_of_elmo() -> None:
    """93.6M parameters of the published model (allennlp.org/elmo): four LSTMs of 4,096 cells with
    projections to 512 (Peters et al. 2018, section 3.4) beside the convolutions."""
    assert [*num_filters(512).values()] == [32, 32, 64, 128, 256, 512, 1024]
    lstm = 4 * 4096 * (512 + 512 + 1) + 4096 * 512
    assert round((num_parameters(512) + 4 * lstm) / 1e6, 1) == 93.6


@pytest.mark.parametrize("width", [8, 16, 512])
def test_counts(width: int) -> None:
    with torch.device("meta"):
        made = CharacterConvolutions(5, width, LENGTH)
    assert sum(p.numel() for p in made.parameters()) == num_parameters(width)


def test_flops() -> None:
    made = embeddings()
    with FlopCounterMode(display=False) as counter:
        made(torch.arange(4, 7))
    assert counter.get_total_flops() == 3 * 2 * multiply_adds(16, LENGTH)


def test_initial_weights(tmp_path: Path) -> None:
    """allenai/bilm-tf, bilm/training.py, whatever `initializer_range`; and none of them is drawn
    again where a network is loaded."""
    network = elmo(initializer_range=0.5).network
    table = network.get_input_embeddings()
    assert isinstance(table, CharacterConvolutions)
    assert 0.5 < table.characters.weight.std() < 0.65  # uniform from -1 to 1: 0.58
    assert all(p.abs().max() <= 0.05 for p in table.convolutions.parameters())
    layers: Any = table.highways
    gates = [highway.gate.bias for highway in layers]
    assert all(torch.equal(bias, torch.full_like(bias, -2)) for bias in gates)
    network.save_pretrained(tmp_path)
    again = type(network).from_pretrained(tmp_path)
    for name, weight in network.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name]), name


def test_an_elmo_learns_with_them() -> None:
    backbone = elmo()
    ids = torch.tensor([[1, 4, 6, 5, 2], [1, 7, 4, 3, 2]])
    positions = torch.tensor([0, 1, 2, 3, 5, 6, 7, 8])
    batch = {
        "input_ids": ids,
        "token_type_ids": torch.zeros_like(ids),
        "positions": positions,
        "targets": ids.flatten()[positions + 1],
        "backward_positions": positions + 1,
        "backward_targets": ids.flatten()[positions],
    }
    learner = BiLM(backbone)
    before = mean_loss(learner, batch)
    assert overfit(learner, batch) < before / 4


def test_noise_is_added_to_their_embeddings() -> None:
    network = elmo().network
    (table,) = token_tables(network)
    ids = torch.tensor([[1, 4, 2]])
    plain_embeddings = table(ids)
    perturb(network, lambda tokens, embedded: torch.ones_like(embedded))
    torch.testing.assert_close(table(ids), plain_embeddings + 1)


def test_texts_are_needed() -> None:
    tokens = Tokens(vocab_size=5, pad=0, start=1, end=2, pieces=("a", "b"))
    architecture = Architecture(family="elmo", characters=9)
    with pytest.raises(ValueError, match=r"needs the texts of 5 tokens, but has those of 2"):
        build(architecture, SIZE, tokens, "bilm", seed=0)
