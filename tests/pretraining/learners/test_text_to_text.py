"""Text predicted by a decoder, or after its source in one stack, against transformers' losses."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from harness.models.blueprints import Tokens
from harness.pretraining.learners.token_prediction import TokenPrediction
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.loader import TensorBatch, to_tensors
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.targets import assemble
from harness.pretraining.objectives.transforms import apply_transform
from tests.models.networks import mean_loss, network, overfit, small, without_gradient
from tests.pretraining.objectives.transforms.texts import (
    CLS,
    PAD,
    SEP,
    VOCAB,
    VOCABULARY,
    make_rows,
)

TOKENS = Tokens(VOCAB, PAD, CLS, SEP)
TEXT_OBJECTIVES = (
    "span_corruption",
    "iid_corruption",
    "mass",
    "deshuffling",
    "prefix_lm",
    "denoising",
)


def read_as(name: str, representation: str) -> Objective:
    return OBJECTIVES[name].model_copy(update={"representation": representation})  # type: ignore[return-value]


def make_batch(objective: Objective, start: int = PAD) -> TensorBatch:
    rows = make_rows([[30], [9, 12], [20]], seed=1)
    corrupted = apply_transform(objective.transform, rows, np.random.default_rng(0), VOCABULARY)
    return to_tensors(assemble(rows, corrupted, objective, None, VOCABULARY, start))


def learner(name: str, *objectives: Objective) -> TokenPrediction:
    backbone = small(name, objectives[-1].representation, TOKENS)
    return TokenPrediction(backbone, objectives, 0.02)


@pytest.mark.parametrize("name", ["t5", "t5_shared", "t5_v1_1", "bart", "transformer"])
@pytest.mark.parametrize("name_of_objective", TEXT_OBJECTIVES)
def test_decoders_loss_is_that_of_transformers(name: str, name_of_objective: str) -> None:
    """Which makes the decoder's input of the labels itself: the start token is the family's own."""
    objective = read_as(name_of_objective, "encoder_decoder")
    ours = learner(name, objective).eval()
    config = network(ours.backbone).config
    batch = make_batch(objective, config.decoder_start_token_id)
    labels = torch.full(batch["decoder_input_ids"].shape, -100)
    labels.view(-1)[batch["positions"]] = batch["targets"]
    theirs = network(ours.backbone)(
        input_ids=batch["input_ids"], attention_mask=batch.get("attention_mask"), labels=labels
    )
    torch.testing.assert_close(mean_loss(ours, batch), theirs.loss, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["t5", "gpt2", "llama"])
@pytest.mark.parametrize("representation", ["causal", "prefix"])
@pytest.mark.parametrize("name_of_objective", ["span_corruption", "prefix_lm"])
def test_one_stack_predicts_the_text_after_its_source(
    name: str, representation: str, name_of_objective: str
) -> None:
    """Each token from the row cut off before it: neither it nor what follows may matter."""
    objective = read_as(name_of_objective, representation)
    ours, batch = learner(name, objective).eval(), make_batch(objective)
    width = batch["input_ids"].shape[1]
    given = batch.get("prefix_lengths")
    losses = []
    for position, target in zip(batch["positions"], batch["targets"], strict=True):
        row, column = divmod(int(position), width)
        before = batch["input_ids"][row : row + 1, : column + 1]
        assert int(batch["input_ids"][row, column + 1]) == int(target)
        prefix = None if given is None else given[row : row + 1]
        states = ours.backbone(before, prefix_lengths=prefix).last_hidden_state[:, -1]
        losses.append(F.cross_entropy(ours.backbone.token_logits(states), target[None]))
    expected = torch.stack(losses).mean()
    torch.testing.assert_close(mean_loss(ours, batch), expected, atol=1e-5, rtol=0)


def test_a_source_is_read_both_ways_as_a_prefix_alone() -> None:
    """The last token of the source moves the states of the first under `prefix` only."""
    for representation in ("causal", "prefix"):
        objective = read_as("span_corruption", representation)
        ours, batch = learner("t5", objective).eval(), make_batch(objective)
        changed = batch["input_ids"].clone()
        changed[:, 2] = 7
        more = {name: batch[name] for name in ("prefix_lengths",) if name in batch}
        one, two = (
            ours.backbone(ids, **more).last_hidden_state[:, 0]
            for ids in (batch["input_ids"], changed)
        )
        assert torch.allclose(one, two, atol=1e-6) == (representation == "causal")


def test_mixtures_read_each_component_its_own_way() -> None:
    """One network, whose losses are those of learners with one component each."""
    parts = [read_as("span_corruption", "causal"), read_as("prefix_lm", "prefix")]
    ours = learner("t5", *parts).eval()
    for number, part in enumerate(parts):
        batch, alone = make_batch(part), learner("t5", part).eval()
        assert torch.equal(ours(batch, number)[0]["token"], alone(batch)[0]["token"])


@pytest.mark.parametrize(
    ("name", "name_of_objective", "representation"),
    [
        ("t5", "span_corruption", "encoder_decoder"),
        ("t5_shared", "prefix_lm", "encoder_decoder"),
        ("t5_v1_1", "span_corruption", "encoder_decoder"),
        ("bart", "denoising", "encoder_decoder"),
        ("t5", "span_corruption", "prefix"),
        ("t5", "span_corruption", "causal"),
        ("gpt2", "span_corruption", "prefix"),
    ],
)
def test_all_parameters_train_and_one_batch_is_learned(
    name: str, name_of_objective: str, representation: str
) -> None:
    objective = read_as(name_of_objective, representation)
    batch = make_batch(objective, SEP if name == "bart" else PAD)
    assert not without_gradient(learner(name, objective), batch)
    assert overfit(learner(name, objective), batch) < 0.2
