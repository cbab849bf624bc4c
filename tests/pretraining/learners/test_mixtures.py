"""Mixtures: each update trains one component under its representation."""

from collections import Counter

import numpy as np
import pytest
import torch

from harness.data.corpora.packing import Packing
from harness.data.corpora.token_stream import TokenStream
from harness.data.tokenizers import Tokenizer
from harness.models import MODELS, Size
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.learners.learner import INPUTS
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.loader import to_step
from harness.pretraining.objectives.objective import Component, Mixture, Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain

VOCAB = 200
TINY = Size(num_layers=1, hidden_size=32, num_heads=2, intermediate_size=64)
MLM, SPANS, CLM = (OBJECTIVES[name] for name in ("mlm", "span_corruption", "clm"))


def vocabulary() -> Vocabulary:
    sentinels = np.arange(VOCAB - 1, VOCAB - 11, -1)
    special = (np.arange(VOCAB) < 8) | np.isin(np.arange(VOCAB), sentinels)
    starts = np.ones(VOCAB, dtype=bool)
    return Vocabulary(VOCAB, 0, 2, 3, 4, special, starts, sentinels=sentinels, extra={"[M]": 5})


def spec_of(family: str, *components: Component) -> Pretrain:
    return Pretrain(
        model=MODELS[family].model_copy(update={"dropout": 0.0, "attention_dropout": 0.0}),
        size=TINY,
        objective=Mixture(mixture=components),
        tokenizer=Tokenizer(vocab_size=VOCAB, sentinels=10, extra_tokens=("[M]",)),
        packing=Packing(format="doc_sentences"),
        phases=(Phase(fraction=1, sequence_length=32),),
        batch_size=4,
        budget=Budget(steps=10),
    )


def maker(spec: Pretrain, num_steps: int = 60) -> BatchMaker:
    rng = np.random.default_rng(0)
    tokens = rng.integers(8, VOCAB - 10, 4000).astype(np.uint16)
    stream = TokenStream(tokens, np.arange(0, 4001, 10), np.arange(0, 401, 4))
    return BatchMaker(
        stream, vocabulary(), spec.objective, spec.packing, spec.phases, 4, 0, num_steps
    )


def test_updates_are_drawn_by_weight_from_the_seed() -> None:
    spec = spec_of("bert", Component(weight=3, objective=MLM), Component(weight=1, objective=CLM))
    made, again = maker(spec), maker(spec)
    drawn = [made.component(step) for step in range(2000)]
    assert drawn == [again.component(step) for step in range(2000)]
    assert Counter(drawn)[0] / 2000 == pytest.approx(0.75, abs=3 * 0.0097)


@pytest.mark.parametrize(("family", "other"), [("t5", SPANS), ("bert", CLM), ("gpt2", CLM)])
def test_each_component_is_read_as_it_says(family: str, other: Objective) -> None:
    """The same batch, the same weights: the loss of the component is that of it alone."""
    spec = spec_of(family, Component(objective=MLM), Component(objective=other))
    mixed = make_learner(spec, vocabulary(), 0, {}).eval()
    made = maker(spec)
    seen = set()
    for number in range(12):
        component = made.component(number)
        seen.add(component)
        (part,) = to_step(made.batch(number), 10_000, component).parts
        states = mixed.backbone(
            **{name: part[name] for name in part if name in INPUTS},
            representation=spec.objectives[component].representation,
        ).last_hidden_state
        logits = mixed.backbone.token_logits(states.flatten(0, 1)[part["positions"]])
        assert torch.equal(mixed.predictions(part, component)["token"][0], logits)
    assert seen == {0, 1}


def test_a_mode_token_stands_first_and_costs_a_token_of_text() -> None:
    with_mode = spec_of(
        "t5", Component(objective=SPANS, mode_token="[M]"), Component(objective=SPANS)
    )
    made = maker(with_mode)
    for number in range(10):
        batch = made.batch(number)
        marked = made.component(number) == 0
        assert (batch["input_ids"][:, 1] == 5).all() == marked
        assert (batch["input_ids"][:, 0] == 2).all()
        assert 5 not in batch["targets"]
        assert batch["num_tokens"].max() <= 31
