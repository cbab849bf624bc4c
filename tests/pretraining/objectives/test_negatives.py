"""Pairs of skip-gram and negative samples against loops."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from harness.pretraining.objectives import OBJECTIVES, negatives
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.held_out import evaluation_objective, held_out_batches
from harness.pretraining.objectives.negatives import NegativeSampling
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import SampledToken
from harness.pretraining.objectives.targets import assemble, count_targets
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.transforms.order import ContextWindow
from tests.pretraining.objectives.test_conformance import spec_of, stream, vocabulary
from tests.pretraining.objectives.transforms.texts import VOCABULARY, make_rows

SKIPGRAM = OBJECTIVES["skipgram"].components[0][1]


def test_pairs_are_those_of_a_loop() -> None:
    """Mikolov et al. 2013a, section 3.2: R tokens before and after, R drawn for each token."""
    rows = make_rows([[9, 4], [1], [13], []])
    noise = apply_transform(ContextWindow(size=4), rows, np.random.default_rng(3), VOCABULARY)
    assert noise.window is not None
    width, expected = rows.tokens.shape[1], []
    for b, row in enumerate(rows.tokens.tolist()):
        for t in range(width):
            reach = int(noise.window[b, t])
            for other in range(max(0, t - reach), min(width, t + reach + 1)):
                if rows.maskable[b, t] and rows.maskable[b, other] and other != t:
                    expected.append((b * width + t, row[other]))
    batch = assemble(rows, noise, SKIPGRAM, None, VOCABULARY, 0)
    assert (
        list(zip(batch["positions"].tolist(), batch["targets"].tolist(), strict=True)) == expected
    )


@pytest.mark.parametrize("power", [0.75, 1.0, 0.0])
@pytest.mark.parametrize("at_once", [2, 1000])
def test_noise_is_the_unigram_distribution_to_a_power(
    power: float, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(negatives, "TOKENS_AT_ONCE", at_once)
    tokens = [7] * 16 + [9] * 81 + [10] + [3] * 5  # 3 is special
    noise = NegativeSampling(np.array(tokens), VOCABULARY).noise(power)
    weights = {token: n**power for token, n in Counter(tokens).items() if token != 3}
    expected = {token: one / sum(weights.values()) for token, one in weights.items()}
    assert {int(i): noise[i] for i in np.flatnonzero(noise)} == pytest.approx(expected)
    if power == 0.75:  # 16^(3/4) = 8 and 81^(3/4) = 27
        assert noise[[7, 9, 10]] == pytest.approx(np.array([8, 27, 1]) / 36)


def test_text_of_unknown_words_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="sampled_token needs text with words of the vocabulary"):
        NegativeSampling(np.array([3, 3]), VOCABULARY).noise(0.75)


def test_samples_follow_the_noise() -> None:
    sampling = NegativeSampling(np.array([7] * 16 + [9] * 81 + [10]), VOCABULARY)
    objective = SKIPGRAM.model_copy(update={"output": SampledToken(negatives=3)})
    batch = {"targets": np.full(5000, 7)}
    (drawn,) = sampling.sample(batch, objective, np.random.default_rng(0)).values()
    assert drawn.shape == (5000, 3)
    shares = np.bincount(drawn.ravel(), minlength=11)[[7, 9, 10]] / drawn.size
    np.testing.assert_allclose(shares, np.array([8, 27, 1]) / 36, atol=4 * 0.5 / drawn.size**0.5)
    assert sampling.sample(batch, Objective(), np.random.default_rng(0)) == {}


@pytest.mark.parametrize("name", ["skipgram", "cbow_negative_sampling"])
def test_batches_have_samples_of_the_text(name: str) -> None:
    objective: Any = OBJECTIVES[name]
    spec = spec_of(objective)
    made = BatchMaker(
        stream(), vocabulary(), objective, spec.packing, spec.phases, spec.batch_size, 0, 10
    ).batch(0)
    held_out = held_out_batches(stream(), vocabulary(), objective, 32, 0)[0]
    for batch in (made, held_out):
        assert batch["negatives"].shape == (len(batch["targets"]), 5)
        assert np.isin(batch["negatives"], np.unique(stream().tokens)).all()
        assert count_targets(batch)["sampled"] == 6 * len(batch["targets"])


def test_held_out_windows_are_equal_for_all_arms() -> None:
    wide = SKIPGRAM.model_copy(update={"transform": ContextWindow(size=9)})
    assert evaluation_objective(wide).transform == ContextWindow()
