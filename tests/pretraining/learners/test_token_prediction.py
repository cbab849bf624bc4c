"""Masked LM with its optional losses, against transformers' own and a loss written out by hand."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AlbertForPreTraining, BertForPreTraining

from harness.models import MODELS, SIZES
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.models.encoders import ENCODERS
from harness.pretraining.learners.heads import NUM_PLACES, SpanBoundary
from harness.pretraining.learners.token_prediction import TokenPrediction
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.masking import SpanMasking

VOCAB, IGNORED = 60, -100
MLM, SPANBERT = Objective(), Objective(transform=SpanMasking(), span_boundary=True)


def learner(name: str, objective: Objective = MLM, spread: float = 0.1) -> TokenPrediction:
    still = {"initializer_range": spread, "dropout": 0.0, "attention_dropout": 0.0}
    tokens = Tokens(VOCAB, 0, 2, 3, pair_format=True)
    backbone = build(
        MODELS[name].model_copy(update=still), SIZES["nano"], tokens, "bidirectional", 0
    )
    torch.manual_seed(0)
    return TokenPrediction(backbone, [objective], spread)


def make_batch() -> TensorBatch:
    """Three rows of 16, the last padded; spans of 3, 1 and 2 tokens hidden."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, VOCAB, (3, 16), generator=generator)
    ids[2, 12:] = 0
    positions = torch.tensor([4, 5, 6, 16 + 9, 32 + 2, 32 + 3])
    targets = ids.flatten()[positions].clone()
    ids.view(-1)[positions] = 4
    return {
        "input_ids": ids,
        "attention_mask": (ids != 0).long(),
        "token_type_ids": (torch.arange(16) > 7).long().expand(3, 16),
        "positions": positions,
        "targets": targets,
        "pair_label": torch.tensor([1, 0, 1]),
        "span_left": torch.tensor([3, 3, 3, 24, 33, 33]),
        "span_right": torch.tensor([7, 7, 7, 26, 36, 36]),
        "span_offset": torch.tensor([0, 1, 2, 0, 0, 1]),
    }


def for_transformers(batch: TensorBatch, segments: bool) -> dict[str, Tensor]:
    """The batch as transformers' classes for masked LM take it."""
    labels = torch.full_like(batch["input_ids"], IGNORED)
    labels.view(-1)[batch["positions"]] = batch["targets"]
    names = ["input_ids", "attention_mask"] + ["token_type_ids"] * segments
    return {"labels": labels} | {name: batch[name] for name in names}


def mean_losses(model: TokenPrediction, batch: TensorBatch) -> dict[str, Tensor]:
    return {
        name: F.cross_entropy(logits, right)
        for name, (logits, right) in model.predictions(batch).items()
    }


@pytest.mark.parametrize("name", ENCODERS)
def test_masked_lm_is_that_of_transformers(name: str) -> None:
    model, batch = learner(name), make_batch()
    inputs = for_transformers(batch, model.backbone.facts.segments)
    with torch.no_grad():
        ours = model(batch)[0]
        theirs = model.backbone.network(**inputs).loss
    assert set(ours) == {"token"}
    assert ours["token"].item() / len(batch["targets"]) == pytest.approx(theirs.item(), abs=1e-5)


@pytest.mark.parametrize(
    ("name", "pair", "theirs", "dense", "out", "label"),
    [
        (
            "bert",
            "nsp",
            BertForPreTraining,
            "bert.pooler.dense",
            "cls.seq_relationship",
            "next_sentence_label",
        ),
        (
            "albert",
            "sop",
            AlbertForPreTraining,
            "albert.pooler",
            "sop_classifier.classifier",
            "sentence_order_label",
        ),
    ],
)
def test_pair_loss_is_that_of_transformers(
    name: str, pair: Any, theirs: Any, dense: str, out: str, label: str
) -> None:
    model, batch = learner(name, Objective(sentence_pair=pair)), make_batch()
    assert model.pair_head is not None
    weights = model.backbone.network.state_dict()
    for part, module in ((dense, model.pair_head.dense), (out, model.pair_head.out)):
        weights |= {f"{part}.{key}": value for key, value in module.state_dict().items()}
    network = theirs(model.backbone.network.config).eval()
    network.load_state_dict(weights)
    with torch.no_grad():
        ours = mean_losses(model, batch)
        expected = network(**for_transformers(batch, True), **{label: batch["pair_label"]}).loss
    assert set(ours) == {"token", "pair"}
    assert (ours["token"] + ours["pair"]).item() == pytest.approx(expected.item(), abs=1e-5)


# Written out once more, as a reference


def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def norm(x: Tensor) -> Tensor:
    return (x - x.mean()) / torch.sqrt(x.var(unbiased=False) + 1e-12)


def boundary_by_hand(head: SpanBoundary, around: Tensor, place: int, embeddings: Tensor) -> Tensor:
    """[V] log-probabilities of one prediction (Joshi et al. 2020, section 3.2); [2H] around."""
    first = torch.cat([around, head.places.weight[place]])
    hidden = norm(gelu(head.first.weight @ first + head.first.bias))
    hidden = norm(gelu(head.second.weight @ hidden + head.second.bias))
    return torch.log_softmax(embeddings @ hidden + head.bias, 0)


@pytest.mark.parametrize("name", ["bert", "albert"])  # albert's embeddings are 128 wide
def test_span_boundary_by_hand(name: str) -> None:
    model, batch = learner(name, SPANBERT).eval(), make_batch()
    head = model.span_boundary
    assert head is not None and head.places.weight.shape == (NUM_PLACES, 200)
    torch.nn.init.normal_(head.bias)
    embeddings: Tensor = model.backbone.network.get_input_embeddings().weight  # type: ignore[assignment]
    with torch.no_grad():
        loss = model(batch)[0]["boundary"]
        inputs = {key: batch[key] for key in ("input_ids", "attention_mask", "token_type_ids")}
        states = model.backbone(**inputs).last_hidden_state
        expected = 0.0
        # row, tokens before and after the span, and the hidden ones
        for row, before, after, hidden in (
            (0, 3, 7, (4, 5, 6)),
            (1, 8, 10, (9,)),
            (2, 1, 4, (2, 3)),
        ):
            around = torch.cat([states[row, before], states[row, after]])
            for place, column in enumerate(hidden):
                right = batch["targets"][batch["positions"].tolist().index(row * 16 + column)]
                expected -= boundary_by_hand(head, around, place, embeddings)[right].item()
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_late_places_in_a_span_share_a_row() -> None:
    head = SpanBoundary(8, 11, 8, 0.1)
    left, right, embeddings = torch.randn(8), torch.randn(8), torch.randn(11, 8)
    left, right = left.expand(3, 8), right.expand(3, 8)
    last, late, early = head(left, right, torch.tensor([NUM_PLACES - 1, 99, 0]), embeddings)
    assert torch.equal(last, late) and not torch.equal(last, early)


def test_losses_have_no_weight_but_one() -> None:
    """A plain sum of mean losses (spanbert_loss.py; Devlin et al. 2019, appendix A.2)."""
    assert learner("bert", SPANBERT).weights == {}


@pytest.mark.parametrize("name", ENCODERS)
def test_every_parameter_learns(name: str) -> None:
    model = learner(name, SPANBERT.model_copy(update={"sentence_pair": "nsp"}))
    torch.stack([*model(make_batch())[0].values()]).sum().backward()
    idle = [
        key
        for key, weight in model.named_parameters()
        if weight.grad is None or not weight.grad.any()
    ]
    assert idle == []


@pytest.mark.parametrize("name", ENCODERS)
def test_one_batch_is_learned(name: str) -> None:
    model, batch = learner(name, spread=0.05).train(), make_batch()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(150):
        loss = mean_losses(model, batch)["token"]
        if loss < 0.1:
            return
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    pytest.fail(f"the loss is {loss:.2f} after 150 updates")


def test_span_boundary_of_one_batch_is_learned() -> None:
    model, batch = learner("bert", OBJECTIVES["spanbert"], spread=0.05), make_batch()  # type: ignore[arg-type]
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(150):
        losses = mean_losses(model, batch)
        optimizer.zero_grad()
        (losses["token"] + losses["boundary"]).backward()
        optimizer.step()
    assert max(losses["token"], losses["boundary"]) < 0.1
