"""Auxiliary objectives in fine-tuning: their losses are those of pretraining, and their weights
follow the gradients."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn
from transformers import BertForMaskedLM, GPT2LMHeadModel, PreTrainedTokenizerFast

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.auxiliary import Auxiliary
from harness.finetuning.auxiliary_batches import (
    HOLDOUT,
    auxiliary_batches,
    key_of,
    objective_batch,
    part_of,
    prefixed,
)
from harness.finetuning.auxiliary_losses import AuxiliaryLosses, cosine, gradient
from harness.finetuning.diagnostics import AUXILIARY_WEIGHTS
from harness.finetuning.diagnostics.recorder import Recorder
from harness.finetuning.heads.classification import Classification
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.finetuning.multitask import TASK, MultitaskBatches, TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import Finetuned, finetune
from harness.finetuning.task_chain import Multitask
from harness.models import MODELS, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.tasks.task import MicroworldData, Task

TEXTS = ["the cat saw a dog in rain and sun", "a red bird sat on the old wall"]
SIZE = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=64)
TOY = Task(
    name="toy",
    kind="classification",
    data=MicroworldData(generator="toy"),
    text_fields=("sentence",),
    labels=("no", "yes"),
    metrics=("accuracy",),
    chance=0.5,
    train_size=64,
    licence="none",
    citation="none",
)
PLAIN = Protocol(head_dropout=0.0)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    folder = tmp_path_factory.mktemp("tokenizer")
    train(Tokenizer(vocab_size=90), iter(TEXTS * 9), folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


@pytest.fixture(scope="module")
def vocabulary(tokenizer: PreTrainedTokenizerFast) -> Vocabulary:
    return Vocabulary.of(tokenizer)


def make(
    family: str, representation: str, vocabulary: Vocabulary, dropout: float = 0.0
) -> Backbone:
    update = {
        "initializer_range": 0.1,
        "max_position": 64,
        "dropout": dropout,
        "attention_dropout": dropout,
    }
    one = vocabulary
    tokens = Tokens(one.size, one.pad, one.cls, one.sep, pair_format=True, words=one.words)
    return build(MODELS[family].model_copy(update=update), SIZE, tokens, representation, 0)


def data_of(vocabulary: Vocabulary, n: int = 32, seed: int = 0) -> Encoded:
    """Whether the first of eight words occurs."""
    rng = np.random.default_rng(seed)
    ordinary = np.flatnonzero(vocabulary.word_start & ~vocabulary.special)[:8]
    rows = [rng.choice(ordinary, rng.integers(3, 9)).tolist() for _ in range(n)]
    labels = np.array([int(ordinary[0] in row) for row in rows])
    ids = [[vocabulary.cls, *row, vocabulary.sep] for row in rows]
    return Encoded(Ragged.of(ids), Ragged.of([[0] * len(row) for row in ids]), labels, 0.0)


def settings(*objectives: Any, **fields: Any) -> Auxiliary:
    given = [one if isinstance(one, dict) else {"objective": one} for one in objectives]
    return Auxiliary.read({"objectives": given, **fields})


def named(name: str) -> Objective:
    found = OBJECTIVES[name]
    assert isinstance(found, Objective)
    return found


# The losses.


def test_the_masked_loss_is_that_of_transformers(
    vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerFast
) -> None:
    backbone, data = make("bert", "bidirectional", vocabulary).eval(), data_of(vocabulary)
    batch = Classification(TOY, PLAIN, tokenizer).collate(data, np.arange(8))
    made = objective_batch(batch, named("mlm"), vocabulary, np.random.default_rng(0))
    mine = Classifier(backbone, 2, PLAIN).eval().token_loss(made, "bidirectional")
    network = backbone.network
    assert isinstance(network, BertForMaskedLM)
    labels = torch.full_like(made["input_ids"], -100)
    labels.view(-1)[made["positions"]] = made["targets"]
    theirs = network(made["input_ids"], attention_mask=batch["attention_mask"], labels=labels)
    torch.testing.assert_close(mine, theirs.loss)
    assert torch.equal(batch["input_ids"].view(-1)[made["positions"]], made["targets"])


def test_the_causal_loss_is_that_of_transformers_and_of_the_auxiliary_weight(
    vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerFast
) -> None:
    backbone, data = make("gpt2", "causal", vocabulary).eval(), data_of(vocabulary)
    batch = Classification(TOY, PLAIN, tokenizer).collate(data, np.arange(8))
    made = objective_batch(batch, named("clm"), vocabulary, np.random.default_rng(0))
    model = Classifier(backbone, 2, PLAIN).eval()
    mine, network = model.token_loss(made, "causal"), backbone.network
    assert isinstance(network, GPT2LMHeadModel)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    theirs = network(batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels)
    torch.testing.assert_close(mine, theirs.loss)
    torch.testing.assert_close(mine, model.next_token_loss(batch, model.states(batch)))


@pytest.mark.parametrize("name", ["mlm", "whole_word_mlm", "ngram_mlm", "span_mlm", "clm"])
def test_special_tokens_and_padding_are_not_masked(
    name: str, vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerFast
) -> None:
    batch = Classification(TOY, PLAIN, tokenizer).collate(data_of(vocabulary), np.arange(8))
    made = objective_batch(batch, named(name), vocabulary, np.random.default_rng(0))
    assert len(made["targets"]) and vocabulary.pad not in made["targets"]
    if name != "clm":  # which predicts the end
        assert not vocabulary.special[made["targets"].numpy()].any()
    changed = made["input_ids"] != batch["input_ids"]
    assert not vocabulary.special[batch["input_ids"][changed].numpy()].any()
    assert changed.any() == (name != "clm")


def test_nothing_to_predict_costs_nothing(
    vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerFast
) -> None:
    empty = [[vocabulary.cls, vocabulary.sep]]
    data = Encoded(Ragged.of(empty), Ragged.of([[0, 0]]), np.zeros(1, np.int64), 0.0)
    batch = Classification(TOY, PLAIN, tokenizer).collate(data, np.arange(1))
    made = objective_batch(batch, named("mlm"), vocabulary, np.random.default_rng(0))
    assert not len(made["targets"])
    model = Classifier(make("bert", "bidirectional", vocabulary), 2, PLAIN)
    assert model.token_loss(made, "bidirectional").item() == 0


def test_masks_depend_on_seed_update_and_objective(
    vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerFast
) -> None:
    batch = Classification(TOY, PLAIN, tokenizer).collate(data_of(vocabulary), np.arange(16))
    both = settings(
        "mlm", {"objective": {"transform": {"kind": "token_masking", "mask_rate": 0.3}}}
    )
    one, same, other = (auxiliary_batches(batch, both, vocabulary, (0, n)) for n in (4, 4, 5))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["auxiliary0_input_ids"], other["auxiliary0_input_ids"])
    first, second = (part_of(one, key_of(index)) for index in (0, 1))
    assert len(second["targets"]) > 1.5 * len(first["targets"])
    assert part_of(prefixed(HOLDOUT, batch), HOLDOUT).keys() == batch.keys()


# Weights.


class Point(nn.Module):
    """A model whose parameters x [2] are its backbone; its losses are products with a vector."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone: Any = nn.Module()
        self.backbone.x = nn.Parameter(torch.tensor([1.0, 2.0]))
        self.backbone.unused = nn.Parameter(torch.ones(3))

    def forward(self, batch: Batch) -> Tensor:
        found: Tensor = (self.backbone.x * batch["direction"]).sum()
        return found

    def token_loss(self, batch: Batch, representation: str) -> Tensor:
        return self(batch)


def directions(**vectors: tuple[float, float]) -> Batch:
    """A batch whose parts have losses with these gradients."""
    names = {"own": "", "holdout": HOLDOUT, "first": key_of(0), "second": key_of(1)}
    made = {f"{names[n]}direction": torch.tensor(vector) for n, vector in vectors.items()}
    return {TASK: torch.tensor(0), **made}


def one_update(auxiliary: AuxiliaryLosses, batch: Batch) -> Tensor:
    model: Any = Point()
    total = auxiliary.total(model, lambda outputs, _: outputs, batch, model(batch))
    assert all(one.grad is None for one in model.parameters())
    return total


def test_a_weight_rises_with_the_cosine_by_hand() -> None:
    """x = (1, 2). Cosines with the hold-out's (3, 4): of (1, 0) 3/5, of (4, -3) 0, of (-6, -8) -1;
    0.5 times these are added to the logits log 1, log 1 and log 2."""
    given = settings(
        "mlm", {"objective": "clm", "weight": 2}, weights="learned", weight_learning_rate=0.5
    )
    auxiliary = AuxiliaryLosses(given)
    batch = directions(own=(1, 0), holdout=(3, 4), first=(4, -3), second=(-6, -8))
    total = one_update(auxiliary, batch)
    assert total.item() == pytest.approx(1 * 1 + 1 * (4 - 6) + 2 * (-6 - 16))
    powers = np.exp([0.5 * 3 / 5, 0.0, math.log(2) - 0.5])
    assert auxiliary.weights.tolist() == pytest.approx((4 * powers / powers.sum()).tolist())
    assert [round(one, 6) for one in auxiliary.history[0].tolist()] == [1, 1, 2]


@pytest.mark.parametrize(("sign", "rises"), [(1.0, True), (-1.0, False)])
def test_parallel_gradients_raise_a_weight_and_opposite_ones_lower_it(
    sign: float, rises: bool
) -> None:
    auxiliary = AuxiliaryLosses(settings("mlm", weights="learned"))
    batch = directions(own=(4, -3), holdout=(3, 4), first=(0.03 * sign, 0.04 * sign))
    weights = []
    for _ in range(20):
        one_update(auxiliary, batch)
        weights.append(auxiliary.weights[1].item())
    assert weights == sorted(weights, reverse=not rises) and (weights[0] > 1) == rises
    # after n updates of step 0.01, softmax of (0, +-n / 100), times 2
    assert weights[-1] == pytest.approx(2 / (1 + math.exp(-sign * 0.2)), rel=1e-5)


def test_fixed_weights_give_the_sum_and_stay() -> None:
    auxiliary = AuxiliaryLosses(settings("mlm", {"objective": "clm", "weight": 0.5}))
    batch = directions(own=(1, 0), first=(0, 1), second=(2, 2))
    assert one_update(auxiliary, batch).item() == 1 + 2 + 0.5 * 6
    assert auxiliary.weights.tolist() == [1, 1, 0.5]


def test_a_loss_without_gradient_leaves_its_logit() -> None:
    auxiliary = AuxiliaryLosses(settings("mlm", weights="learned"))
    one_update(auxiliary, directions(own=(0, 0), holdout=(0, 0), first=(1, 1)))
    assert auxiliary.weights.tolist() == [1, 1]


def test_the_cosine_is_that_of_all_parameters() -> None:
    one, other = torch.randn(2, 10).unbind()
    expected = torch.cosine_similarity(one, other, dim=0)
    parts = [[vector[:4].view(2, 2), None, vector[4:]] for vector in (one, other)]
    torch.testing.assert_close(cosine(*parts), expected)
    assert cosine([one, None], [None, other]).item() == 0


def test_a_weighted_gradient_is_the_sum_of_gradients(
    vocabulary: Vocabulary, tokenizer: PreTrainedTokenizerFast
) -> None:
    head, given = Classification(TOY, PLAIN, tokenizer), settings("mlm", "clm", weights="learned")
    model = Classifier(make("bert", "bidirectional", vocabulary), 2, PLAIN).train()
    data = data_of(vocabulary)
    task = TaskData(head, data, holdout=data_of(vocabulary, 16, seed=1))
    batches = MultitaskBatches([task], Finetune(auxiliary=given), Multitask(), 0)
    batch = next(iter(batches))
    body = list(model.backbone.parameters())
    losses = [head.loss(model(batch), batch)]
    for index, reading in enumerate(("bidirectional", "causal")):
        losses.append(model.token_loss(part_of(batch, key_of(index)), reading))
    apart = [gradient(one, body, keep=True) for one in losses]
    auxiliary = AuxiliaryLosses(given)
    any_model: Any = model
    total = auxiliary.total(any_model, head.loss, batch, losses[0])
    for parameter, *parts in zip(gradient(total, body, keep=True), *apart, strict=True):
        found = [part for part in parts if part is not None]
        if found:
            torch.testing.assert_close(parameter, sum(found), atol=1e-5, rtol=1e-4)
    held_out = part_of(batch, HOLDOUT)
    wanted = gradient(head.loss(model(held_out), held_out), body)
    rises = torch.stack([cosine(one, wanted) for one in apart])
    torch.testing.assert_close(auxiliary.logits, 0.01 * rises)


# Runs.


def run(
    folder: Path, tokenizer: PreTrainedTokenizerFast, auxiliary: Auxiliary | None, **more: Any
) -> Finetuned:
    vocabulary = Vocabulary.of(tokenizer)
    learned = auxiliary is not None and auxiliary.is_learned
    holdout = data_of(vocabulary, 16, seed=1) if learned else None
    task = TaskData(Classification(TOY, PLAIN, tokenizer), data_of(vocabulary), holdout=holdout)
    chosen = Finetune(learning_rate=2e-3, batch_size=16, epochs=4, auxiliary=auxiliary)
    return finetune(folder, [task], chosen, seed=0, **more)


@pytest.mark.parametrize("weights", ["fixed", "learned"])
def test_runs_repeat_and_learn_both(
    weights: str, tmp_path: Path, tokenizer: PreTrainedTokenizerFast, vocabulary: Vocabulary
) -> None:
    make("bert", "bidirectional", vocabulary, dropout=0.1).save(tmp_path)
    given = settings("mlm", weights=weights)
    first, again = (run(tmp_path, tokenizer, given) for _ in range(2))
    for one, other in zip(first.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(one, other)
    data = data_of(vocabulary, 64, seed=3)
    batch = Classification(TOY, PLAIN, tokenizer).collate(data, np.arange(64))
    masked = objective_batch(batch, named("mlm"), vocabulary, np.random.default_rng(0))

    def masked_loss(done: Finetuned) -> float:
        return done.model.part(0).eval().cpu().token_loss(masked, "bidirectional").item()

    assert masked_loss(first) < masked_loss(run(tmp_path, tokenizer, None)) - 0.2
    assert np.isfinite(first.losses[0]) and first.losses[0] < 0.7


def test_weights_of_every_update_are_recorded(
    tmp_path: Path, tokenizer: PreTrainedTokenizerFast, vocabulary: Vocabulary
) -> None:
    make("bert", "bidirectional", vocabulary).save(tmp_path)
    given = settings("mlm", {"objective": "clm", "weight": 0.5}, weights="learned")
    head = Classification(TOY, PLAIN, tokenizer)
    recorder = Recorder([AUXILIARY_WEIGHTS], head, data_of(vocabulary))
    done = run(tmp_path, tokenizer, given, callbacks=[recorder])
    frame = recorder.frame(done.model.part(0))
    table = frame.pivot(index="step", columns="name", values="value")
    assert list(table.index) == list(range(1, 9)) and set(frame["record"]) == {AUXILIARY_WEIGHTS}
    assert table[["task", "mlm", "clm"]].iloc[0].tolist() == pytest.approx([1, 1, 0.5])
    assert np.allclose(table.sum(axis=1), 2.5) and table["mlm"].nunique() == 8


@pytest.mark.parametrize("adaptation", ["lora", "adapters", "prompt_tuning", "gradual"])
def test_the_gradients_are_of_what_an_adaptation_trains(
    adaptation: str, tmp_path: Path, tokenizer: PreTrainedTokenizerFast, vocabulary: Vocabulary
) -> None:
    make("bert", "bidirectional", vocabulary).save(tmp_path)
    given = settings("mlm", weights="learned")
    done = run(tmp_path, tokenizer, given, adaptation=ADAPTATIONS[adaptation])
    assert not done.diverged


def test_passes_by_hand() -> None:
    """Forward 1, backward 2, so a pass is 3. Learned: three losses of 1 + 2 x 2, and one pass."""
    both = {"objectives": [{"objective": "mlm"}, {"objective": "clm", "weight": 0.5}]}
    assert Auxiliary.read(both).num_passes == 3
    learned = Auxiliary.read({**both, "weights": "learned"})
    assert learned.num_passes == pytest.approx((3 * 5 + 3) / 3)
    assert learned.label == "1 x mlm + 0.5 x clm, learned weights"
    assert learned.names == ("task", "mlm", "clm")


# Bad input.


@pytest.mark.parametrize(
    ("family", "representation", "adaptation", "objective", "message"),
    [
        ("bert", "bidirectional", "frozen", "mlm", "for adaptations that train the network, but"),
        ("bart", "encoder_decoder", "full", "mlm", "but this one is read encoder_decoder"),
        ("opt", "causal", "full", "mlm", "mlm is read bidirectional, but the network can be read"),
    ],
)
def test_networks_and_adaptations_that_do_not_suit(
    family: str,
    representation: str,
    adaptation: str,
    objective: str,
    message: str,
    tmp_path: Path,
    tokenizer: PreTrainedTokenizerFast,
    vocabulary: Vocabulary,
) -> None:
    make(family, representation, vocabulary).save(tmp_path)
    with pytest.raises(ValueError, match=message):
        run(tmp_path, tokenizer, settings(objective), adaptation=ADAPTATIONS[adaptation])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objectives": []}, "at least one objective"),
        ({"objectives": [{"objective": "ul2"}]}, "a single one; list the parts of a mixture"),
        ({"objectives": [{"objective": "rtd"}]}, "must have output masked_token or next_token"),
        ({"objectives": [{"objective": "mlm_nsp"}]}, "without sentence_pair"),
        ({"objectives": [{"objective": "mlm", "weight": 0}]}, "greater than 0"),
        ({"objectives": [{"objective": "mlm"}, {"objective": "mlm"}]}, "must differ"),
        ({"objectives": [{"objective": "mlm"}], "weight_learning_rate": 1}, "weights: learned"),
    ],
)
def test_declarations_that_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Auxiliary.read(given)


def test_one_kind_of_auxiliary_loss_at_a_time() -> None:
    with pytest.raises(ValidationError, match="exclude each other; list clm"):
        Finetune(auxiliary_lm_weight=0.5, auxiliary=settings("clm"))
