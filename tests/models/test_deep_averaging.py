"""Deep averaging networks: against a loop over words and bigrams, with dropped words, and what they
learn and cannot tell apart."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from harness.models import Architecture, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.models.counts.backbones import count_parameters
from harness.models.deep_averaging import Dan, bigram_buckets
from harness.models.flops import Lengths, forward_flops
from harness.pretraining.learners.token_prediction import TokenPrediction
from harness.pretraining.objectives import OBJECTIVES
from tests.models.networks import overfit

V, H = 50, 8
SIZE = Size(num_layers=3, hidden_size=H, num_heads=1, intermediate_size=8)
TOKENS = Tokens(vocab_size=V, pad=0, start=1, end=2)
TEXTS = ([1, 7, 9, 7, 2], [1, 9, 2], [1, 7, 7, 9, 2])
"""The first and the last have equal words, but other bigrams."""
BUCKETS = (None, 0, 5)


def make(**architecture: Any) -> Backbone:
    fields = {"family": "dan", "dropout": 0.0, "initializer_range": 0.5, **architecture}
    return build(Architecture.model_validate(fields), SIZE, TOKENS, "bidirectional", 0).eval()


def network_of(backbone: Backbone) -> Dan:
    assert isinstance(backbone.network, Dan)
    return backbone.network


def rows() -> tuple[Tensor, Tensor]:
    """[B, T] tokens and mask."""
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(one) for one in TEXTS], batch_first=True)
    return ids, (ids != 0).long()


def averaged(network: Dan, text: list[int], layer: int) -> Tensor:
    """[H] of a text: the average of all its words and bigrams, by a loop, through some layers."""
    items = [network.embeddings.weight[word] for word in text]
    if network.bigram_embeddings is not None:
        number = len(network.bigram_embeddings.weight)
        for first, second in zip([0, *text], text, strict=False):
            items.append(network.bigram_embeddings.weight[(first * 116049371 + second) % number])
    vector = torch.stack(items).mean(0)
    for one in list(network.layers)[:layer]:
        dense: Any = one.dense
        vector = (dense.weight @ vector + dense.bias).clamp(min=0)
    return vector


@pytest.mark.parametrize("buckets", BUCKETS)
@torch.no_grad()
def test_states_are_those_of_a_loop(buckets: int | None) -> None:
    backbone, (ids, mask) = make(bigram_buckets=buckets), rows()
    found = backbone(ids, mask, output_hidden_states=True)
    assert found.hidden_states is not None and len(found.hidden_states) == 4
    assert found.last_hidden_state.shape == (3, 5, H)
    for layer in (1, 2, 3):
        for row, text in enumerate(TEXTS):
            expected = averaged(network_of(backbone), text, layer)
            for state in found.hidden_states[layer][row]:
                torch.testing.assert_close(state, expected)
    for row, text in enumerate(TEXTS):  # the lowest are averaged where they are read
        lowest = found.hidden_states[0][row, : len(text)].mean(0)
        torch.testing.assert_close(lowest, averaged(network_of(backbone), text, 0))


@pytest.mark.parametrize(("buckets", "same"), [(0, True), (None, False)])
@torch.no_grad()
def test_bigrams_tell_the_order_of_words(buckets: int | None, same: bool) -> None:
    ids, mask = rows()
    states = make(bigram_buckets=buckets)(ids, mask).last_hidden_state
    assert torch.allclose(states[0], states[2], atol=1e-6) == same


def test_buckets_are_those_of_fasttext() -> None:
    """Of large ids, too, where the product needs 64 bits."""
    ids = torch.tensor([[3, 120_000, 4], [5, 249_999, 249_998]])
    for number in (7, 2_000_000):
        found = bigram_buckets(ids, 0, number).tolist()
        for read, row in zip(found, ids.tolist(), strict=True):
            before = [0, *row[:-1]]
            pairs = zip(before, row, strict=True)
            assert read == [(a * 116049371 + b) % number for a, b in pairs]


def test_the_activation_is_as_declared() -> None:
    ids, mask = rows()
    with torch.no_grad():
        relu, tanh = (make(**f)(ids, mask).last_hidden_state for f in ({}, {"activation": "tanh"}))
    assert (relu >= 0).all() and (tanh < 0).any()
    with pytest.raises(ValueError, match='activation of a dan is "relu" anyway'):
        Architecture(family="dan", activation="relu")
    for field in ({"positions": "none"}, {"norm": "none"}):
        with pytest.raises(ValueError, match="belongs to bert, roberta, gpt2, but family is dan"):
            Architecture.model_validate({"family": "dan", **field})


def test_word_dropout_leaves_words_out_in_training_alone() -> None:
    backbone = make(dropout=0.3, bigram_buckets=0)
    ids, mask = torch.arange(3, 43).expand(200, 40), torch.ones(200, 40, dtype=torch.long)
    network = network_of(backbone).train()
    torch.manual_seed(0)
    kept = network._kept(mask.bool())
    assert kept.float().mean() == pytest.approx(0.7, abs=0.02)
    torch.manual_seed(0)
    states = backbone(ids, mask).last_hidden_state[0, 0]
    torch.testing.assert_close(states, averaged(network, ids[0][kept[0]].tolist(), 3))
    assert not torch.allclose(states, averaged(network, ids[0].tolist(), 3), atol=1e-4)
    backbone.eval()
    assert torch.equal(network._kept(mask.bool()), mask.bool())


def test_a_text_never_loses_all_its_words() -> None:
    network = network_of(make(dropout=0.9)).train()
    real = (torch.arange(3) < torch.tensor([1, 2, 3])[:, None]).repeat(100, 1)
    kept = network._kept(real)
    assert kept.any(1).all() and not kept[~real].any() and not kept[real].all()


@pytest.mark.parametrize("buckets", BUCKETS)
def test_counts_are_those_of_the_network(buckets: int | None) -> None:
    architecture = Architecture(family="dan", bigram_buckets=buckets)
    own = sum(p.numel() for p in make(bigram_buckets=buckets).parameters())
    rows = V + (V if buckets is None else buckets)
    assert own == count_parameters(architecture, SIZE, V) == rows * H + 3 * (H * H + H)


@pytest.mark.parametrize("length", [1, 9])
def test_products_are_those_of_one_vector(length: int) -> None:
    backbone, ids = make(), torch.randint(3, V, (1, length))
    with FlopCounterMode(display=False) as counter:
        backbone.token_logits(backbone(ids).last_hidden_state[:, 0])
    lengths = Lengths(length, predicted=1)
    architecture = Architecture(family="dan")
    assert counter.get_total_flops() == forward_flops(architecture, SIZE, V, lengths)


def test_it_learns_masked_words_as_a_bag_does() -> None:
    """Each text has one distribution, so that only texts of one masked word are learned to 0."""
    backbone = make(initializer_range=0.3).train()
    learner = TokenPrediction(backbone, OBJECTIVES["mlm"].components[0][1:], 0.02)
    ids = torch.randint(5, V, (6, 7), generator=torch.Generator().manual_seed(0))
    masked = ids.clone()
    masked[:, 3] = 3
    batch = {
        "input_ids": masked,
        "attention_mask": torch.ones_like(ids),
        "positions": torch.arange(6) * 7 + 3,
        "targets": ids[:, 3],
    }
    assert overfit(learner, batch, steps=200) < 0.3
    batch["positions"] = torch.cat((batch["positions"], batch["positions"]))
    batch["targets"] = torch.cat((ids[:, 3], (ids[:, 3] - 4) % (V - 5) + 5))  # two for each text
    assert overfit(learner, batch, steps=200) > 0.69
