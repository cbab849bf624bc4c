"""UniLM's mixture: one cloze task under four attention masks, by whose tokens each prediction
reads, against BERT of transformers with masks written out, and on its batches."""

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.data.corpora.packing import Packing
from harness.data.corpora.token_stream import TokenStream
from harness.data.tokenizers import Tokenizer
from harness.experiment.recipe_defaults import expand_names, resolve_pretrain
from harness.models import FAMILY_FIELDS, MODELS, Architecture, Size
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.models.counts.backbones import count_parameters
from harness.plan.costs import pretraining_cost
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.learners.learner import Learner
from harness.pretraining.module import PretrainingModule
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.batches import BatchMaker, MadeBatch
from harness.pretraining.objectives.loader import TensorBatch, to_step
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.optimization import make_optimizer
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.steps import training_flops_per_step

VOCAB, FIRST, STEPS = 400, 5, 3_000
CLS, SEP = 2, 3
PATTERNS = ("causal", "right_to_left", "prefix", "bidirectional")
EVERY = pytest.mark.parametrize("pattern", PATTERNS)
SEGMENTS = {"causal": (2, 2), "right_to_left": (3, 3), "prefix": (4, 5), "bidirectional": (0, 1)}
"""microsoft/unilm, seq2seq_loader.py, of the first and the second segment."""
NETWORK = {"dropout": 0.0, "attention_dropout": 0.0, "initializer_range": 0.1, "segment_types": 6}


@cache
def vocabulary() -> Vocabulary:
    special = np.arange(VOCAB) < FIRST
    return Vocabulary(VOCAB, 0, CLS, SEP, 4, special, ~special)


@cache
def stream() -> TokenStream:
    """Counting up, so that what follows what is known."""
    rng = np.random.default_rng(0)
    documents = np.concatenate([[0], np.cumsum(rng.integers(2, 8, 200))])
    sentences = np.concatenate([[0], np.cumsum(rng.integers(3, 9, documents[-1]))])
    tokens = (FIRST + np.arange(sentences[-1]) % (VOCAB - FIRST)).astype(np.uint16)
    return TokenStream(tokens, sentences, documents)


@cache
def spec() -> Pretrain:
    return Pretrain(
        objective=OBJECTIVES["unilm"],
        model=Architecture(family="bert", **NETWORK),
        size=Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=64),
        tokenizer=Tokenizer(vocab_size=VOCAB),
        packing=Packing(format="segment_pair", pairs="contiguous"),
        phases=(Phase(fraction=1, sequence_length=24),),
        batch_size=4,
        budget=Budget(steps=STEPS),
    )


@cache
def maker() -> BatchMaker:
    one = spec()
    return BatchMaker(
        stream(), vocabulary(), one.objective, one.packing, one.phases, 4, 0, num_steps=STEPS
    )


def steps_of(pattern: str, number: int) -> list[int]:
    """The first updates of a pattern."""
    component = PATTERNS.index(pattern)
    found = [step for step in range(20 * number) if maker().component(step) == component]
    return found[:number]


def learner() -> Learner:
    return make_learner(spec(), vocabulary(), 0, {}).eval()


def batch_of(pattern: str) -> TensorBatch:
    step = steps_of(pattern, 1)[0]
    return to_step(maker().batch(step), 100_000, PATTERNS.index(pattern)).parts[0]


def visible(pattern: str, row: list[int]) -> np.ndarray:
    """[T, T] bool: whether position i reads position j of [CLS] A [SEP] B [SEP] and padding, as
    figure 1 of the paper has it; padding reads itself."""
    length = max(place for place, token in enumerate(row) if token == SEP) + 1
    source = row.index(SEP) + 1
    reads = {
        "bidirectional": lambda i, j: True,
        "causal": lambda i, j: j <= i,
        "right_to_left": lambda i, j: j >= i,
        "prefix": lambda i, j: j < source or source <= j <= i,
    }[pattern]
    size = range(len(row))
    return np.array([[i == j or (j < length and reads(i, j)) for j in size] for i in size])


def logits(model: Learner, batch: TensorBatch, pattern: str) -> Tensor:
    with torch.inference_mode():
        return model.predictions(batch, PATTERNS.index(pattern))["token"][0]


@EVERY
def test_a_prediction_depends_on_the_tokens_that_it_may_see_alone(pattern: str) -> None:
    """A change of any token changes exactly the predictions that may see it."""
    model, batch = learner(), batch_of(pattern)
    num_rows, width = batch["input_ids"].shape
    seen = np.stack([visible(pattern, row) for row in batch["input_ids"].tolist()])
    row, place = np.divmod(batch["positions"].numpy(), width)
    before = logits(model, batch, pattern)
    for column in range(width):
        real = batch["input_ids"][:, column] != 0
        ids = batch["input_ids"].clone()
        ids[real, column] = 5 + (ids[real, column] + 90) % 300
        after = logits(model, {**batch, "input_ids": ids}, pattern)
        moved = (after - before).abs().amax(1).numpy() > 1e-6
        assert np.array_equal(moved, seen[row, place, column] & real.numpy()[row])
    assert num_rows > 1


@EVERY
def test_the_loss_is_that_of_bert_with_its_mask_written_out(pattern: str) -> None:
    """BertForMaskedLM of transformers with a mask [B, 1, T, T]."""
    model, batch = learner(), batch_of(pattern)
    masks = [visible(pattern, row) for row in batch["input_ids"].tolist()]
    network: Any = model.backbone.network
    with torch.inference_mode():
        theirs = network(
            input_ids=batch["input_ids"],
            token_type_ids=batch["token_type_ids"],
            attention_mask=torch.tensor(np.stack(masks))[:, None],
        ).logits.flatten(0, 1)[batch["positions"]]
    ours = logits(model, batch, pattern)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    expected = F.cross_entropy(theirs, batch["targets"], reduction="sum")
    with torch.inference_mode():
        losses = model.losses(batch, PATTERNS.index(pattern))
    torch.testing.assert_close(losses["token"], expected, rtol=1e-4, atol=1e-4)
    assert ("pair" in losses) == (pattern == "bidirectional")


@EVERY
def test_one_batch_is_learned(pattern: str) -> None:
    model, component = learner(), PATTERNS.index(pattern)
    module = PretrainingModule(model.train(), spec(), STEPS, 0)
    step = to_step(maker().batch(steps_of(pattern, 1)[0]), 100_000, component)
    optimizer = make_optimizer(model, Optimizer(learning_rate=1e-2, weight_decay=0))
    losses = []
    for _ in range(60):
        loss = module.loss(step.parts[0], step)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.1 * losses[0]


def test_updates_have_the_published_shares() -> None:
    """Dong et al. 2019, section 2.4."""
    drawn = Counter(maker().component(step) for step in range(STEPS))
    for pattern, share in zip(PATTERNS, (1 / 6, 1 / 6, 1 / 3, 1 / 3), strict=True):
        error = np.sqrt(share * (1 - share) / STEPS)
        assert abs(drawn[PATTERNS.index(pattern)] / STEPS - share) < 4 * error


def segments_of(made: MadeBatch, row: int) -> tuple[list[int], list[int]]:
    """The tokens of the two segments before they were masked."""
    tokens = made.rows.tokens[row, : made.rows.lengths[row]].tolist()
    first = tokens.index(SEP)
    return tokens[1:first], tokens[first + 1 : -1]


@EVERY
def test_rows_of_a_pattern(pattern: str) -> None:
    """Segment numbers tell the patterns apart; the source is [CLS] A [SEP]; only the pairs of NSP
    are random."""
    follows = []
    for step in steps_of(pattern, 30):
        made = maker().made(step)
        batch, types = made.batch, made.batch["token_type_ids"]
        for row, length in enumerate(made.rows.lengths):
            a, b = segments_of(made, row)
            first, second = SEGMENTS[pattern]
            expected = [first] * (len(a) + 2) + [second] * (len(b) + 1)
            assert types[row].tolist() == expected + [0] * (types.shape[1] - length)
            if pattern == "prefix":
                assert batch["prefix_lengths"][row] == len(a) + 2
            follows.append((b[0] - a[-1]) % (VOCAB - FIRST))
        assert ("pair_label" in batch) == (pattern == "bidirectional")
        assert ("prefix_lengths" in batch) == (pattern == "prefix")
    # Segments are truncated at either end, so that a few tokens between them may be missing.
    near = np.mean(np.array(follows) <= 12)
    assert near < 0.7 if pattern == "bidirectional" else near == 1


def test_both_segments_are_masked() -> None:
    """Dong et al. 2019, section 2.3."""
    masked = np.zeros(2)
    for step in steps_of("prefix", 30):
        batch = maker().batch(step)
        row, place = np.divmod(batch["positions"], batch["input_ids"].shape[1])
        in_source = place < batch["prefix_lengths"][row]
        masked += in_source.sum(), (~in_source).sum()
    assert (masked / masked.sum() > 0.3).all()


def test_a_row_without_a_second_segment_is_cut_in_half() -> None:
    """Held-out text, and formats without pairs."""
    one = OBJECTIVES["unilm"].components[2][1]
    packing = Packing(format="doc_sentences")
    made = BatchMaker(stream(), vocabulary(), one, packing, spec().phases, 4, 0, num_steps=20)
    for step in range(10):
        batch = made.batch(step)
        assert np.array_equal(batch["prefix_lengths"], batch["num_tokens"] // 2)


@pytest.mark.parametrize("family", FAMILY_FIELDS["segment_types"])
def test_every_family_with_segments_may_have_more(family: str) -> None:
    tokens, size = Tokens(VOCAB, 0, CLS, SEP), spec().size
    numbers = []
    for types in (3, 6):
        architecture = MODELS[family].model_copy(update={"segment_types": types})
        network = build(architecture, size, tokens, "bidirectional", 0).network
        numbers.append(sum(weight.numel() for weight in network.parameters()))
        numbers.append(count_parameters(architecture, size, VOCAB))
    width = MODELS[family].embedding_size or size.hidden_size
    assert numbers[2] - numbers[0] == numbers[3] - numbers[1] == 3 * width


def test_the_recipe_is_bert_large_with_four_more_segments() -> None:
    """About 340M parameters (section 2.4)."""
    unilm, bert = RECIPES["unilm"], RECIPES["bert"]
    changed = {"size": unilm.size, "tokenizer": unilm.tokenizer}
    numbers = [pretraining_cost(run).parameters for run in (unilm, bert.model_copy(update=changed))]
    assert numbers[0] is not None and numbers[1] is not None
    assert numbers[0] - numbers[1] == 4 * 1024
    assert 330e6 < numbers[0] < 340e6


def test_its_cost_is_the_mean_of_its_parts() -> None:
    """All masks cost the same; a third of the updates also has the loss of pairs."""
    transform = OBJECTIVES["unilm"].components[0][1].transform
    one = {"packing": Packing(format="segment_pair")}
    flops = [
        training_flops_per_step(
            spec().model_copy(
                update={**one, "objective": Objective(transform=transform, sentence_pair=pair)}
            )
        )
        for pair in ("none", "nsp")
    ]
    assert flops[1] > flops[0]
    assert training_flops_per_step(spec()) == pytest.approx((2 * flops[0] + flops[1]) / 3)


@pytest.mark.parametrize(
    "start",
    [
        {"recipe": "bert", "size": "nano", "model": {"segment_types": 6}},
        {"objective": "mlm_nsp", "packing": {"pairs": None}},
    ],
)
def test_it_may_start_from_bert(start: dict[str, Any]) -> None:
    """As published (section 2.4): the same network, pretrained by masked LM and NSP."""
    fields = {"recipe": "unilm", "size": "nano", "init_from": start}
    run = resolve_pretrain(expand_names(fields))
    assert run.init_from is not None
    assert run.init_from.model == run.model and run.init_from.tokenizer == run.tokenizer
    assert run.init_from.objective.sentence_pair == "nsp"
