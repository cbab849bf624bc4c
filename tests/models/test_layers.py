"""Which layers a network has, and which of them its parameters belong to."""

import pytest
import torch
from torch import nn

from harness.models import FAMILIES, MODELS
from harness.models.layer_names import EMBEDDINGS, HEAD
from harness.models.layers import layer_of_parameters, layers
from tests.models.networks import small

NETWORKS = [
    (name, representation)
    for name, architecture in MODELS.items()
    if FAMILIES[architecture.family].kind not in ("baseline", "checkpoint")
    for representation in FAMILIES[architecture.family].representations
]
NUM_LAYERS = 2


def _expected(name: str, representation: str) -> list[str]:
    if name == "static":
        return []
    if representation == "encoder_decoder":
        return [f"{half} {n}" for half in ("encoder", "decoder") for n in (1, 2)]
    return ["layer 1"] if name == "albert" else ["layer 1", "layer 2"]


@pytest.mark.parametrize(("name", "representation"), NETWORKS)
def test_layers_are_ordered_from_bottom_to_top(name: str, representation: str) -> None:
    backbone = small(name, representation)
    found = layers(backbone)
    assert [layer for layer, _ in found] == _expected(name, representation)
    # Each has its share of what is in no other place: layers are of one shape.
    halves = {layer.split()[0] for layer, _ in found}
    for half in halves:
        sizes = [
            sum(p.numel() for p in module.parameters() if p.ndim == 2)
            for layer, module in found
            if layer.startswith(half)
        ]
        # relative positions of T5's and DeBERTa's first layer, cross layers of none
        assert max(sizes) - min(sizes) <= 0.05 * max(sizes)


@pytest.mark.parametrize(("name", "representation"), NETWORKS)
def test_every_parameter_belongs_somewhere(name: str, representation: str) -> None:
    backbone = small(name, representation)
    found = layer_of_parameters(backbone, backbone)
    assert found.keys() == {name for name, _ in backbone.named_parameters()}
    assert set(found.values()) >= {EMBEDDINGS, *_expected(name, representation)} - {
        layer
        for layer in _expected(name, representation)
        if name == "t5_shared" and "decoder" in layer
    }
    embedding = backbone.network.get_input_embeddings()
    for parameter, value in backbone.named_parameters():
        if isinstance(embedding, nn.Module) and value is embedding.weight:
            assert found[parameter] == EMBEDDINGS
        if found[parameter] == HEAD:
            assert ".0." not in parameter or "lm_head" in parameter, parameter


@pytest.mark.parametrize(
    ("name", "representation"), [("bert", "bidirectional"), ("gpt2", "causal")]
)
def test_a_change_affects_only_layers_above(name: str, representation: str) -> None:
    """The states after the lowest layer stay where the top one is changed."""
    backbone = small(name, representation).eval()
    ids = torch.randint(5, 90, (2, 8), generator=torch.Generator().manual_seed(0))

    def states() -> tuple[torch.Tensor, ...]:
        out = backbone(ids, None, torch.zeros_like(ids), output_hidden_states=True).hidden_states
        assert out is not None
        return out

    with torch.no_grad():
        before = states()
        for value in layers(backbone)[-1][1].parameters():
            value.mul_(2)
        after = states()
    assert torch.equal(before[1], after[1])
    assert not torch.allclose(before[2], after[2])


def test_parameters_outside_the_backbone_are_head() -> None:
    backbone = small("bert", "bidirectional")
    model = nn.ModuleDict({"backbone": backbone, "head": nn.Linear(64, 3)})
    found = layer_of_parameters(model, backbone)
    assert found["head.weight"] == HEAD
    assert found["backbone.network.bert.encoder.layer.1.attention.self.query.weight"] == "layer 2"
    assert found["backbone.network.bert.embeddings.position_embeddings.weight"] == EMBEDDINGS
