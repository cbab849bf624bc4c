"""Corrective language modelling and sequence contrastive learning, each loss by hand."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.nn import functional as F

from harness.models import MODELS, SIZES
from harness.models.blueprints import Tokens
from harness.models.build import load
from harness.models.encoders import ENCODERS
from harness.pretraining.learners.corrective import (
    CorrectiveLM,
    make_corrective,
    similarities,
    with_copies,
)
from harness.pretraining.learners.generated_input import fill
from harness.pretraining.learners.learner import gather
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.loader import TensorBatch, to_step
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import Contrast, CorrectedToken
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from tests.pretraining.learners.test_replaced_token import make_batch as masked_batch

VOCAB = 60
TOKENS = Tokens(VOCAB, 0, 2, 3, pair_format=True)
OUTPUT = CorrectedToken(generator_depth=0.5)


def make_learner(
    name: str = "bert",
    output: CorrectedToken = OUTPUT,
    spread: float = 0.1,
    dropout: float = 0.0,
    **objective: Any,
) -> CorrectiveLM:
    changes = {"initializer_range": spread, "dropout": dropout, "attention_dropout": dropout}
    spec = RECIPES["coco_lm"].model_copy(
        update={
            "model": MODELS[name].model_copy(update=changes),
            "size": SIZES["nano"],
            "objective": Objective(output=output, **objective),
        }
    )
    torch.manual_seed(0)
    return make_corrective(spec, TOKENS, 0)


def make_batch() -> TensorBatch:
    """Three rows of 16 tokens, the last padded, and crops of 12 and 10 of them."""
    batch = masked_batch()
    original = batch["input_ids"].clone()
    original.view(-1)[batch["positions"]] = batch["targets"]
    crop = torch.cat((original[:, :1], original[:, 3:14]), dim=1)
    crop[2, 10:] = 0
    return batch | {
        "crop_input_ids": crop,
        "crop_attention_mask": (crop != 0).long(),
        "crop_token_type_ids": torch.zeros_like(crop),
    }


def losses(model: CorrectiveLM, batch: TensorBatch) -> dict[str, float]:
    with torch.no_grad():
        return {name: value.item() for name, value in model(batch)[0].items()}


def test_corrective_loss_by_hand() -> None:
    """Meng et al. 2021, section 3.2: -log(1(x = original) p_copy + (1 - p_copy) p_LM(original))."""
    logits = [[0.5, -1.0, 2.0], [0.0, 1.0, 0.3]]
    changed, read, original = [0.7, -1.2], [1, 2], [0, 2]
    total = 0.0
    for row in range(2):
        keep = 1 / (1 + math.exp(changed[row]))
        powers = [math.exp(logit) for logit in logits[row]]
        share = (1 - keep) * powers[original[row]] / sum(powers)
        total -= math.log(share + keep * (read[row] == original[row]))
    shares = with_copies(torch.tensor(logits), torch.tensor(changed), torch.tensor(read))
    assert shares.exp().sum(-1).tolist() == pytest.approx([1.0, 1.0])
    found = F.cross_entropy(shares, torch.tensor(original), reduction="sum")
    assert found.item() == pytest.approx(total, rel=1e-5)


def test_contrastive_loss_is_the_cross_entropy_of_an_explicit_matrix() -> None:
    generator = torch.Generator().manual_seed(3)
    first, second = torch.randn(2, 4, 5, generator=generator)
    views, temperature = [*first, *second], 0.3
    total = 0.0
    for one in range(8):
        others = [other for other in range(8) if other != one]
        matrix = torch.stack(
            [F.cosine_similarity(views[one], views[other], dim=0) for other in others]
        )
        target = torch.tensor(others.index((one + 4) % 8))
        total += F.cross_entropy(matrix / temperature, target).item()
    logits, targets = similarities(torch.cat((first, second)), temperature)
    found = F.cross_entropy(logits, targets, reduction="sum").item()
    assert found == pytest.approx(total, rel=1e-5)


def test_losses_are_those_of_the_parts() -> None:
    model, batch = make_learner().eval(), make_batch()
    read = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    crop = {name: batch[f"crop_{name}"] for name in read}
    with torch.no_grad():
        guessed = gather(model.generator(**read).last_hidden_state, batch["positions"])
        filled, replaced = fill(batch, model.draw(model.generator.token_logits(guessed)))
        states = model.backbone(**read | {"input_ids": filled}).last_hidden_state
        cropped = model.backbone(**crop).last_hidden_state
        changed = states @ model.copy_head.weight[0] + model.copy_head.bias
        real = batch["attention_mask"].bool()
        lm = model.backbone.token_logits(states.flatten(0, 1)[batch["positions"]]).softmax(-1)
        keep = torch.sigmoid(-changed).flatten()[batch["positions"]]
        same = filled.flatten()[batch["positions"]] == batch["targets"]
        right = lm.gather(1, batch["targets"][:, None])[:, 0]
        assert model.sequence_head is not None
        views = model.sequence_head(torch.cat((states[:, 0], cropped[:, 0])))
    found = losses(model, batch)
    copied = F.binary_cross_entropy_with_logits(
        changed[real], replaced[real].float(), reduction="sum"
    )
    assert found["replaced"] == pytest.approx(copied.item(), rel=1e-5)
    corrected = -(same * keep + (1 - keep) * right).log().sum()
    assert found["corrected"] == pytest.approx(corrected.item(), rel=1e-5)
    contrast = F.cross_entropy(*similarities(views, 1.0), reduction="sum")
    assert found["contrast"] == pytest.approx(contrast.item(), rel=1e-5)
    assert set(found) == {"token", "replaced", "corrected", "contrast"}


def test_counts_and_weights() -> None:
    """criterions/cocolm.py: means over masked tokens, real tokens, and both views."""
    batch = {name: value.numpy() for name, value in make_batch().items()}
    batch["num_tokens"] = np.full(3, 16)
    counts = to_step(batch, 1000).counts
    assert [counts[name] for name in ("token", "corrected", "replaced", "contrast")] == [
        6,
        6,
        44,
        6,
    ]
    output = CorrectedToken(copy_weight=7, contrast=Contrast(weight=3))
    assert make_learner(output=output).weights == {"replaced": 7, "contrast": 3}


def test_evaluation_is_deterministic() -> None:
    model, batch = make_learner(dropout=0.1).eval(), make_batch()
    assert losses(model, batch) == losses(model, batch)


def test_samples_are_drawn_without_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = make_learner(dropout=0.3), make_batch()
    sampled: list[Tensor] = []
    draw = model.draw

    def kept(logits: Tensor, share: float) -> Any:
        sampled.append(logits)
        return draw(logits)

    monkeypatch.setattr(model, "draw", kept)
    guesses = model.predictions(batch)["token"][0]
    assert model.generator.training
    with torch.no_grad():
        still = model.eval().predictions(batch)["token"][0]
    torch.testing.assert_close(sampled[0], still)
    assert (guesses - still).abs().max() > 1e-3


def test_no_gradient_from_the_correction_to_the_copy_head() -> None:
    model = make_learner(output=OUTPUT.model_copy(update={"embedding_sharing": "none"}))
    model(make_batch())[0]["corrected"].backward()
    assert model.copy_head.weight.grad is None
    assert all(weight.grad is None for weight in model.generator.parameters())
    assert any(weight.grad is not None for weight in model.backbone.parameters())


@pytest.mark.parametrize("name", ENCODERS)
def test_losses_at_the_start(name: str) -> None:
    found = losses(make_learner(name, spread=0.02).eval(), make_batch())
    assert found["token"] / 6 == pytest.approx(math.log(VOCAB), abs=0.15)
    assert found["corrected"] / 6 == pytest.approx(math.log(2 * VOCAB), abs=0.3)
    assert found["replaced"] / 44 == pytest.approx(math.log(2), abs=0.05)
    assert 0 < found["contrast"] / 6 < math.log(5) + 2


@pytest.mark.parametrize("name", ["bert", "electra_small", "deberta_v3", "modernbert"])
def test_all_that_is_trained_learns(name: str) -> None:
    model = make_learner(name)
    torch.stack(list(model(make_batch())[0].values())).sum().backward()
    for weight_name, weight in model.named_parameters():
        assert weight.requires_grad, weight_name  # the token head, too
        assert weight.grad is not None, weight_name
        assert weight.grad.any(), weight_name


def test_one_batch_is_learned(tmp_path: Path) -> None:
    model, batch = make_learner(), make_batch()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    first = losses(model.eval(), batch)
    for _ in range(80):
        torch.stack(list(model.train()(batch)[0].values())).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    last = losses(model.eval(), batch)
    assert last["token"] < 0.1 * first["token"]
    assert last["replaced"] < 0.3 * first["replaced"]
    assert last["corrected"] < 0.1 * first["corrected"]
    assert last["contrast"] < first["contrast"]
    model.save(tmp_path)
    read = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    ours, theirs = (
        part(**read).last_hidden_state for part in (model.backbone, load(tmp_path).eval())
    )
    torch.testing.assert_close(theirs, ours, atol=1e-6, rtol=0)


def test_without_contrast_and_without_crops() -> None:
    alone = make_learner(output=OUTPUT.model_copy(update={"contrast": None}))
    assert alone.sequence_head is None
    assert "contrast" not in losses(alone, make_batch())
    assert "contrast" not in losses(make_learner(), masked_batch())


def test_one_sequence_has_no_negatives() -> None:
    batch = {name: value[:1] for name, value in make_batch().items()}
    batch |= {name: make_batch()[name][:3] for name in ("positions", "targets")}
    assert losses(make_learner(), batch)["contrast"] == 0


def test_pairs() -> None:
    batch = make_batch() | {"pair_label": torch.tensor([1, 0, 1])}
    assert "pair" in losses(make_learner(sentence_pair="sop"), batch)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": MODELS["gpt2"]}, "corrected_token needs an encoder, but family is gpt2"),
        (
            {"objective": OBJECTIVES["spanbert"].model_copy(update={"output": CorrectedToken()})},
            "span_boundary needs the output masked_token, but it is corrected_token",
        ),
    ],
)
def test_runs_without_corrective_lm(changes: dict[str, Any], message: str) -> None:
    fields = {"objective": Objective(output=CorrectedToken()), **changes}
    spec = RECIPES["electra"].model_copy(update=fields)
    with pytest.raises(ValueError, match=message):
        Pretrain.model_validate(spec.model_dump())


def test_disentangled_embeddings_are_refused() -> None:
    """A tied token head would read the difference of the tables in training, and their sum in the
    saved network."""
    with pytest.raises(ValidationError, match="embedding_sharing must be shared or none"):
        CorrectedToken(embedding_sharing="gradient_disentangled")


@torch.no_grad()
@pytest.mark.parametrize("sharing", ["shared", "none"])
def test_the_saved_token_head_is_the_trained_one(sharing: Any, tmp_path: Path) -> None:
    model = make_learner(output=CorrectedToken(generator_depth=0.5, embedding_sharing=sharing))
    batch = make_batch()
    read = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    model.eval().save(tmp_path)
    saved = load(tmp_path)
    expected, found = (
        one.token_logits(one(**read).last_hidden_state) for one in (model.backbone, saved)
    )
    torch.testing.assert_close(found, expected)
