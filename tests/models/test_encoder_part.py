"""The encoder of an encoder-decoder: compared with transformers' own classes."""

from pathlib import Path

import pytest
import torch
from transformers import BartForConditionalGeneration, T5EncoderModel

from harness.models import MODELS, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.counts.backbones import count_parameters
from harness.models.encoder_part import EncoderPart
from harness.models.layers import layers

SIZE = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=64)
IDS = torch.tensor([[2, 7, 8, 9, 3], [2, 6, 3, 0, 0]])
MASK = (IDS != 0).long()


def whole(name: str) -> Backbone:
    model = MODELS[name].model_copy(update={"max_position": 32})
    return build(model, SIZE, Tokens(20, 0, 2, 3), "encoder_decoder", 0).eval()


@torch.no_grad()
def test_states_of_bart_are_those_of_its_encoder(tmp_path: Path) -> None:
    whole("bart").save(tmp_path)
    network = BartForConditionalGeneration.from_pretrained(tmp_path).eval()
    expected = network(input_ids=IDS, attention_mask=MASK).encoder_last_hidden_state
    found = EncoderPart(load(tmp_path))(IDS, MASK).last_hidden_state
    torch.testing.assert_close(found, expected)


@torch.no_grad()
def test_states_of_t5_are_those_of_transformers_encoder(tmp_path: Path) -> None:
    """And the parameters those of the declared single stack."""
    whole("t5").save(tmp_path)
    network = T5EncoderModel.from_pretrained(tmp_path).eval()
    part = EncoderPart(load(tmp_path))
    expected = network(input_ids=IDS, attention_mask=MASK).last_hidden_state
    torch.testing.assert_close(part(IDS, MASK).last_hidden_state, expected)
    count = sum(one.numel() for one in part.parameters())
    assert count == network.num_parameters()
    assert count == count_parameters(MODELS["t5"], SIZE, 20, representation="bidirectional")


@pytest.mark.parametrize("name", ["bart", "t5", "t5_shared"])
def test_a_part_has_the_layers_of_the_encoder_alone(name: str) -> None:
    part = EncoderPart(whole(name))
    assert [layer for layer, _ in layers(part)] == ["layer 1", "layer 2"]
    assert not any("decoder" in parameter for parameter, _ in part.named_parameters())
    states = part(IDS, MASK, output_hidden_states=True).hidden_states
    assert states is not None and len(states) == 3
    with pytest.raises(ValueError, match="has no token head"):
        part.token_logits(states[-1])


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_the_whole_network_is_saved_with_a_part(name: str, tmp_path: Path) -> None:
    backbone = whole(name)
    decoder = {n: p.clone() for n, p in backbone.named_parameters() if ".decoder." in n}
    part = EncoderPart(backbone)
    with torch.no_grad():
        for parameter in part.parameters():
            parameter.add_(1)
    part.save(tmp_path)
    again = load(tmp_path)
    assert again.representation == "encoder_decoder"
    saved = dict(again.named_parameters())
    assert decoder and all(torch.equal(saved[n], value) for n, value in decoder.items())
    for one, other in zip(EncoderPart(again).parameters(), part.parameters(), strict=True):
        assert torch.equal(one, other)


def test_other_networks_have_no_such_part() -> None:
    stack = build(MODELS["t5"], SIZE, Tokens(20, 0, 2, 3), "bidirectional", 0)
    with pytest.raises(ValueError, match=r"only an encoder-decoder .* is bidirectional"):
        EncoderPart(stack)
