"""FLOPs of a forward pass against PyTorch's own count of transformers' networks."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from harness.models import SIZES, Architecture, Size
from harness.models.counts.backbones import count_parameters
from harness.models.flops import Lengths, forward_flops, replaced_head
from tests.models.reference import REFERENCE, SHAPES, VARIANTS, VOCAB, t5_stack

TOKENS, TARGET, PREDICTED = 14, 9, 3


def counted(network: nn.Module, backward: bool = False, **inputs: Any) -> int:
    """FLOPs that PyTorch counts in a call of the network, and of the loss's gradient."""
    network.train()
    with FlopCounterMode(display=False) as counter:
        out = network(**inputs)
        if backward:
            out.logits.sum().backward()
    return counter.get_total_flops()


def ids(rows: int, length: int) -> Tensor:
    return torch.randint(3, VOCAB, (rows, length))


@pytest.mark.parametrize("architecture", VARIANTS, ids=repr)
@pytest.mark.parametrize("size", SHAPES, ids=["one", "three", "two"])
def test_forward_of_every_family(architecture: Architecture, size: Size) -> None:
    if architecture.share_decoder:
        architecture = architecture.model_copy(update={"num_decoder_layers": size.num_layers})
    network = REFERENCE[architecture.family](architecture, size)
    inputs: dict[str, Any] = {"input_ids": ids(1, TOKENS)}
    lengths = Lengths(TOKENS, predicted=TOKENS)
    representation = architecture.facts.representations[0]
    if representation == "encoder_decoder":
        inputs["decoder_input_ids"] = ids(1, TARGET)
        lengths = Lengths(TOKENS, TARGET, TARGET)
    if architecture.family == "xlnet":
        representation = "bidirectional"
        inputs["token_type_ids"] = torch.zeros_like(inputs["input_ids"])
    ours = forward_flops(architecture, size, VOCAB, lengths, representation=representation)
    assert counted(network, **inputs) == ours


@pytest.mark.parametrize("size", SHAPES, ids=["one", "three", "two"])
def test_two_streams_of_xlnet(size: Size) -> None:
    architecture = Architecture(family="xlnet")
    mapping = torch.zeros(1, PREDICTED, TOKENS)
    mapping[0, torch.arange(PREDICTED), torch.tensor([2, 5, 7])] = 1
    tokens = ids(1, TOKENS)
    flops = counted(
        REFERENCE["xlnet"](architecture, size),
        input_ids=tokens,
        token_type_ids=torch.zeros_like(tokens),
        perm_mask=torch.zeros(1, TOKENS, TOKENS),
        target_mapping=mapping,
    )
    lengths = Lengths(TOKENS, predicted=PREDICTED)
    assert flops == forward_flops(architecture, size, VOCAB, lengths)


@pytest.mark.parametrize("family", ["deberta", "deberta_v3"])
def test_a_batch_shares_the_distances_of_deberta(family: str) -> None:
    architecture = Architecture(family=family, max_position=32)
    size = SHAPES[0]
    flops = counted(REFERENCE[family](architecture, size), input_ids=ids(4, TOKENS))
    lengths = Lengths(TOKENS, predicted=TOKENS)
    ours = forward_flops(architecture, size, VOCAB, lengths, batch_size=4)
    assert flops == 4 * ours


@pytest.mark.parametrize("family", ["bert", "electra", "gpt2", "llama", "modernbert"])
def test_backward_is_twice_forward(family: str) -> None:
    architecture = Architecture(family=family, max_position=32)
    for size in SHAPES:
        lengths = Lengths(TOKENS, predicted=TOKENS)
        ours = forward_flops(architecture, size, VOCAB, lengths)
        network = REFERENCE[family](architecture, size)
        assert counted(network, backward=True, input_ids=ids(1, TOKENS)) == 3 * ours


def test_t5_as_one_stack() -> None:
    """Source and target stand in one row; the token head is the embedding."""
    size, architecture = SHAPES[1], Architecture(family="t5")
    flops = counted(t5_stack(architecture, size), input_ids=ids(1, TOKENS + TARGET))
    lengths = Lengths(TOKENS, TARGET, TARGET)
    ours = forward_flops(architecture, size, VOCAB, lengths, representation="prefix")
    assert flops + 2 * TARGET * size.hidden_size * VOCAB == ours


def test_replaced_token_head() -> None:
    size = SHAPES[1]
    hidden = size.hidden_size
    head = nn.Sequential(nn.Linear(hidden, hidden), nn.Linear(hidden, 1))
    with FlopCounterMode(display=False) as counter:
        head(torch.zeros(TOKENS, hidden))
    assert counter.get_total_flops() == 2 * TOKENS * replaced_head(size)


@pytest.mark.parametrize("embedding_size", [None, 12])
@pytest.mark.parametrize(
    ("family", "directions", "state", "read"),
    [("lstm", 1, 32, 32), ("bilstm", 2, 16, 32), ("elmo", 2, 16, 16)],
)
@pytest.mark.parametrize(
    ("cell", "step"), [(None, nn.LSTMCell), ("gru", nn.GRUCell), ("rnn", nn.RNNCell)]
)
def test_gates_of_recurrent_networks(
    family: str,
    directions: int,
    state: int,
    read: int,
    embedding_size: int | None,
    cell: str | None,
    step: Any,
) -> None:
    """Token by token, as PyTorch does not count the products of a whole network.

    Args:
        state: width of the states of one direction.
        read: width of what an upper layer and the output layer read.
    """
    size = Size(num_layers=3, hidden_size=32, num_heads=1, intermediate_size=8)
    fields = {"family": family, "embedding_size": embedding_size, "cell": cell}
    architecture = Architecture.model_validate(fields)
    with FlopCounterMode(display=False) as counter:
        for width in (embedding_size or read, read, read):
            for made in [step(width, state) for _ in range(directions)]:
                for _ in range(TOKENS):
                    made(torch.zeros(1, width))
        nn.Linear(read, VOCAB)(torch.zeros(PREDICTED, read))
    lengths = Lengths(TOKENS, predicted=PREDICTED)
    assert counter.get_total_flops() == forward_flops(architecture, size, VOCAB, lengths)


def test_two_ways_cost_two_gpt2_of_half_the_size() -> None:
    size = Size(num_layers=3, hidden_size=48, num_heads=6, intermediate_size=64)
    half = Size(num_layers=3, hidden_size=24, num_heads=3, intermediate_size=32)
    gpt2 = REFERENCE["gpt2"](Architecture(family="gpt2", max_position=32), half)
    architecture = Architecture(family="two_way_gpt2", max_position=32)
    ours = forward_flops(architecture, size, VOCAB, Lengths(TOKENS, predicted=2 * TOKENS))
    assert 2 * counted(gpt2, input_ids=ids(1, TOKENS)) == ours


def test_what_needs_no_products() -> None:
    size, lengths = SIZES["nano"], Lengths(10, predicted=8)
    for family in ("bag_of_words", "majority", "lead", "copy"):
        assert forward_flops(Architecture(family=family), size, 100, lengths) == 0
    static = forward_flops(Architecture(family="static"), size, 100, lengths)
    assert static == 2 * 8 * size.hidden_size * 100


def test_bert_base_costs_six_flops_for_a_parameter_and_token() -> None:
    """Kaplan et al. 2020, section 2.1: C = 6 N D without embeddings and attention's scores."""
    bert, base = Architecture(), SIZES["base"]
    tokens = 512
    flops = 3 * forward_flops(bert, base, 30_522, Lengths(tokens))
    scores = 12 * base.num_layers * base.hidden_size * tokens**2  # Chowdhery et al. 2022, B
    pooler = base.hidden_size**2 + base.hidden_size
    embeddings = (30_522 + 512 + 2) * base.hidden_size
    weights = count_parameters(bert, base, 30_522) - embeddings - pooler
    assert flops - scores == pytest.approx(6 * weights * tokens, rel=2e-3)  # biases and norms


def test_an_encoder_decoder_costs_a_decoder_of_half_its_parameters() -> None:
    """Raffel et al. 2020, section 3.2.2: L + L layers have the cost of a language model of L."""
    t5, base = Architecture(family="t5"), SIZES["t5_base"]
    both = forward_flops(t5, base, 0, Lengths(512, 114))
    one = forward_flops(t5, base, 0, Lengths(512, 114), representation="prefix")
    assert both == pytest.approx(one, rel=0.15)
