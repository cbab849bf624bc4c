"""Networks: published parameter counts, and the heads against transformers' own models."""

from pathlib import Path
from typing import Literal

import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM, BertModel, RobertaModel

from harness.models import SIZES, Architecture, Size
from harness.models.build import Encoder, build, make_config
from harness.models.counts import count_parameters, count_trained_parameters

BERT_VOCAB = 30_522
ROBERTA_VOCAB = 50_265

PUBLISHED = [
    ("bert", "tiny", BERT_VOCAB, 4_385_920),  # Turc et al. 2019 print 4.4M, 11.2M, 28.8M, 41.4M
    ("bert", "mini", BERT_VOCAB, 11_170_560),
    ("bert", "small", BERT_VOCAB, 28_763_648),
    ("bert", "medium", BERT_VOCAB, 41_373_184),
    ("bert", "base", BERT_VOCAB, 109_482_240),  # Devlin et al. 2019 print 110M and 340M
    ("bert", "large", BERT_VOCAB, 335_141_888),
    ("bert", "base", 28_996, 108_310_272),  # bert-base-cased
    ("roberta", "base", ROBERTA_VOCAB, 124_645_632),  # fairseq prints 125M and 355M
    ("roberta", "large", ROBERTA_VOCAB, 355_359_744),
]
TINY = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=48)


@pytest.mark.parametrize(("family", "size", "vocab_size", "count"), PUBLISHED)
def test_published_counts(
    family: Literal["bert", "roberta"], size: str, vocab_size: int, count: int
) -> None:
    architecture = Architecture(family=family)
    config = make_config(architecture, SIZES[size], vocab_size, pad_token_id=0)
    with torch.device("meta"):
        model = {"bert": BertModel, "roberta": RobertaModel}[family](config)
    assert sum(p.numel() for p in model.parameters()) == count
    assert count_parameters(architecture, SIZES[size], vocab_size) == count


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("pair_format", [False, True])
@pytest.mark.parametrize("pair_loss", [False, True])
def test_trained_parameters_are_counted(
    family: Literal["bert", "roberta"], pair_format: bool, pair_loss: bool
) -> None:
    architecture = Architecture(family=family, max_position=64)
    model = build(architecture, TINY, 100, 1, 0, pair_format=pair_format, pair_loss=pair_loss)
    counted = count_trained_parameters(
        architecture, TINY, 100, pair_format=pair_format, pair_loss=pair_loss
    )
    assert sum(p.numel() for p in model.parameters()) == counted


def test_published_counts_with_heads() -> None:
    bert = Architecture()
    masked = count_trained_parameters(bert, SIZES["base"], BERT_VOCAB)
    both = count_trained_parameters(
        bert, SIZES["base"], BERT_VOCAB, pair_format=True, pair_loss=True
    )
    assert (masked, both) == (109_514_298, 110_106_428)  # BertForMaskedLM, BertForPreTraining


def make(family: Literal["bert", "roberta"], pair_loss: bool = False, seed: int = 0) -> Encoder:
    architecture = Architecture(family=family, max_position=64)
    return build(
        architecture, TINY, 100, 1, seed, pair_format=pair_loss, pair_loss=pair_loss
    ).eval()


def test_initial_weights_depend_on_the_seed_alone() -> None:
    torch.manual_seed(123)
    state = torch.get_rng_state()
    one, two, other = make("roberta", True), make("roberta", True), make("roberta", True, seed=1)
    assert torch.equal(torch.get_rng_state(), state), "the caller's generator is left alone"
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    assert not all(torch.equal(a, b) for a, b in pairs)


def test_initial_weights_have_the_declared_spread() -> None:
    model = build(Architecture(initializer_range=0.05), SIZES["tiny"], 2000, 0, 0, pair_loss=True)
    matrices = [p for p in model.parameters() if p.ndim == 2 and p.numel() > 1000]
    assert all(abs(matrix.std().item() - 0.05) < 0.003 for matrix in matrices)


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("pair_loss", [False, True])
def test_saved_model_loads_with_every_weight(
    family: Literal["bert", "roberta"], pair_loss: bool, tmp_path: Path
) -> None:
    model = make(family, pair_loss)
    model.save(tmp_path)
    backbone = AutoModel.from_pretrained(tmp_path, add_pooling_layer=pair_loss).eval()
    masked = AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    ids = torch.randint(5, 100, (3, 10))
    with torch.inference_mode():
        ours = model.backbone(input_ids=ids)
        theirs = backbone(input_ids=ids)
        logits, _ = model(ids, torch.zeros_like(ids), torch.arange(30))
        assert torch.equal(ours.last_hidden_state, theirs.last_hidden_state)
        if pair_loss:
            assert torch.equal(ours.pooler_output, theirs.pooler_output)
        torch.testing.assert_close(masked(ids).logits.flatten(0, 1), logits)


def test_padding_changes_nothing() -> None:
    model = make("roberta", True)
    ids = torch.randint(5, 100, (2, 10))
    padded = torch.cat([ids, torch.full((2, 6), 1)], 1)
    mask = (padded != 1).long()
    positions = torch.tensor([1, 4])
    with torch.inference_mode():
        plain = model(ids, torch.zeros_like(ids), positions)
        wide = model(padded, torch.zeros_like(padded), positions, mask)
    torch.testing.assert_close(wide, plain)


def test_roberta_refuses_a_padding_token_that_leaves_no_room() -> None:
    with pytest.raises(ValueError, match="padding token"):
        build(Architecture(family="roberta"), TINY, 100, 7, 0)
