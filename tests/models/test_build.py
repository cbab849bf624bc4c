"""Networks from declared values: seeds, spread, and what is saved."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM

from harness.models import FAMILIES, MODELS, SIZES, Architecture, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import BLUEPRINTS, build, load

TINY = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=128)
TOKENS = Tokens(100, pad=0, start=2, end=3)
NETWORKS = [
    (family, representation)
    for family, facts in FAMILIES.items()
    if facts.kind not in ("baseline", "checkpoint")
    for representation in facts.representations
]


def make(family: str, representation: str = "", seed: int = 0) -> Backbone:
    architecture = MODELS[family].model_copy(update={"max_position": 64})
    return build(
        architecture, TINY, TOKENS, representation or FAMILIES[family].representations[0], seed
    ).eval()


def states(backbone: Backbone, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """[B, T, H] of the whole input; a decoder reads it, too."""
    more = {}
    if backbone.representation == "encoder_decoder":
        more = {"decoder_input_ids": ids, "decoder_attention_mask": mask}
    with torch.inference_mode():
        out = backbone(ids, mask, torch.zeros_like(ids), **more)
    return out.last_hidden_state


@pytest.mark.parametrize(("family", "representation"), NETWORKS)
def test_initial_weights_depend_on_the_seed_alone(family: str, representation: str) -> None:
    torch.manual_seed(123)
    state = torch.get_rng_state()
    one, two, other = (
        make(family, representation),
        make(family, representation),
        make(family, representation, seed=1),
    )
    assert torch.equal(torch.get_rng_state(), state), "the caller's generator is left alone"
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    assert not all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(("family", "representation"), NETWORKS)
def test_what_is_saved_reads_the_same(family: str, representation: str, tmp_path: Path) -> None:
    backbone = make(family, representation)
    backbone.save(tmp_path)
    again = load(tmp_path).eval()
    assert (again.family, again.representation) == (family, representation)
    ids = torch.randint(5, 100, (3, 10))
    assert torch.equal(states(backbone, ids), states(again, ids))
    half = TINY.hidden_size // 2 if representation == "bilm" else None  # one reader tells a token
    with torch.inference_mode():
        one, two = (n.token_logits(states(n, ids)[..., :half]) for n in (backbone, again))
    assert torch.equal(one, two)


@pytest.mark.parametrize(("family", "representation"), NETWORKS)
def test_padding_changes_nothing(family: str, representation: str) -> None:
    backbone = make(family, representation)
    ids = torch.randint(5, 100, (2, 10))
    padded = torch.cat([ids, torch.zeros(2, 6, dtype=torch.long)], 1)
    wide = states(backbone, padded, (padded != 0).long())
    torch.testing.assert_close(wide[:, :10], states(backbone, ids), atol=2e-6, rtol=1e-5)


SEES = {
    **dict.fromkeys(("bidirectional", "prefix", "permuted"), "all"),
    **dict.fromkeys(("cbow", "skipgram"), "itself"),
    "right_to_left": "before",
}
"""Which states a token reaches when the whole input is read; left to right if nothing is said."""


@pytest.mark.parametrize(("family", "representation"), NETWORKS)
def test_a_token_is_seen_only_where_the_representation_allows(
    family: str, representation: str
) -> None:
    backbone = make(family, representation)
    ids = torch.randint(5, 100, (2, 9))
    other = ids.clone()
    other[:, 6] = 5 + (ids[:, 6] - 4) % 95
    moved = (states(backbone, ids) - states(backbone, other)).abs().amax((0, 2)) > 1e-7
    if (
        representation == "encoder_decoder"
    ):  # the decoder reads left to right what the encoder saw whole
        assert moved[:6].any()
        return
    if representation == "bilm":
        assert moved.all()
        return
    reached = {"all": range(9), "itself": [6], "before": range(7)}
    expected = reached.get(SEES.get(representation, ""), range(6, 9))
    assert moved.nonzero().flatten().tolist() == list(expected)


def test_a_prefix_is_seen_whole_and_the_rest_left_to_right() -> None:
    backbone = make("bert", "prefix")
    ids = torch.randint(5, 100, (1, 9))
    for changed, seen_from in ((2, range(9)), (6, range(6, 9))):
        other = ids.clone()
        other[:, changed] = 5 + (ids[:, changed] - 4) % 95
        with torch.inference_mode():
            one, two = (
                backbone(x, prefix_lengths=torch.tensor([4]), token_type_ids=torch.zeros_like(x))
                for x in (ids, other)
            )
        moved = (one.last_hidden_state - two.last_hidden_state).abs().amax((0, 2)) > 1e-7
        assert moved.nonzero().flatten().tolist() == list(seen_from)


OF_ITS_OWN = ("t5", "lstm", "bilstm", "elmo", "modernbert")
"""Families that scale their initial weights by their shapes or depth, as published."""


@pytest.mark.parametrize(
    ("family", "representation"), [pair for pair in NETWORKS if pair[0] not in OF_ITS_OWN]
)
def test_initial_weights_have_the_declared_spread(family: str, representation: str) -> None:
    architecture = MODELS[family].model_copy(update={"initializer_range": 0.05})
    tokens = Tokens(2000, pad=0, start=2, end=3)
    network = build(architecture, SIZES["tiny"], tokens, representation, 0)
    for name, weight in network.named_parameters():
        if weight.ndim == 2 and weight.numel() > 5000 and not name.endswith(SMALLER):
            assert abs(weight.std().item() - 0.05) < 0.003, name


SMALLER = ("c_proj.weight", "attn.attention.q_proj.weight")
"""GPT-2's last layers before a sum: 1 / sqrt(2 x layers) of the rest (Radford 2019, 2.3); the
queries of GPT-Neo."""


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_transformers_loads_what_is_saved(family: str, tmp_path: Path) -> None:
    backbone = make(family)
    backbone.save(tmp_path)
    body = AutoModel.from_pretrained(tmp_path, add_pooling_layer=False).eval()
    masked = AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    ids = torch.randint(5, 100, (3, 10))
    with torch.inference_mode():
        ours = states(backbone, ids)
        assert torch.equal(ours, body(input_ids=ids).last_hidden_state)
        torch.testing.assert_close(masked(ids).logits, backbone.token_logits(ours))


def test_roberta_refuses_a_padding_token_that_leaves_no_room() -> None:
    tokens = Tokens(100, pad=7, start=2, end=3)
    with pytest.raises(ValueError, match="padding token"):
        build(Architecture(family="roberta"), TINY, tokens, "bidirectional", 0)


def test_every_family_has_its_blueprint() -> None:
    assert BLUEPRINTS.keys() >= FAMILIES.keys()
