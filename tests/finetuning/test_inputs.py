"""Batches of fine-tuning are drawn at random, every epoch anew."""

import numpy as np
import pytest

from harness.finetuning.inputs import Encoded, Ragged, TrainBatches
from harness.finetuning.protocol import Finetune

EPOCHS = 40


def batches(num_items: int, batch_size: int, seed: int = 0) -> TrainBatches:
    """Of items of very different lengths."""
    lengths = np.random.default_rng(0).integers(3, 60, num_items)
    rows = Ragged.of([[1] * length for length in lengths])
    data = Encoded(rows, rows, np.zeros(num_items), 0.0)
    return TrainBatches(data, Finetune(batch_size=batch_size, epochs=EPOCHS), lambda *_: {}, seed)


def kept(first: list[np.ndarray], second: list[np.ndarray]) -> float:
    """Share of the pairs of items in one batch of `first` that are in one batch of `second`."""
    batch_of = np.empty(sum(map(len, second)), dtype=int)
    for number, items in enumerate(second):
        batch_of[items] = number
    pairs = sum(len(items) * (len(items) - 1) for items in first)
    still = sum(np.sum(batch_of[items] == batch_of[items][:, None]) - len(items) for items in first)
    return still / pairs


def random_shares(num_items: int, batch_size: int) -> list[float]:
    """Of batches cut from independent permutations."""
    rng = np.random.default_rng(1)

    def cut() -> list[np.ndarray]:
        order = rng.permutation(num_items)
        return [order[i : i + batch_size] for i in range(0, num_items, batch_size)]

    return [kept(cut(), cut()) for _ in range(EPOCHS)]


@pytest.mark.parametrize("num_items", [64, 256, 1000, 2500])
@pytest.mark.parametrize("batch_size", [16, 32])
def test_batch_mates_change_as_in_a_random_order(num_items: int, batch_size: int) -> None:
    """Between epochs and between seeds; a batch of similar lengths keeps most of its items."""
    expected = random_shares(num_items, batch_size)
    bound = 4 * np.std(expected, ddof=1) * np.sqrt(2 / EPOCHS)
    one = batches(num_items, batch_size)
    epochs = [kept(one.order(i), one.order(i + 1)) for i in range(EPOCHS)]
    seeds = [kept(one.order(0), batches(num_items, batch_size, i).order(0)) for i in range(1, 41)]
    assert np.mean(epochs) == pytest.approx(np.mean(expected), abs=bound)
    assert np.mean(seeds) == pytest.approx(np.mean(expected), abs=bound)
    assert np.mean(expected) == pytest.approx((batch_size - 1) / (num_items - 1), rel=0.2)


def test_an_epoch_has_every_item_once_and_repeats() -> None:
    some = batches(1000, 32)
    first, second = some.order(0), some.order(1)
    assert some.num_steps == EPOCHS * len(first) == EPOCHS * 32
    assert sorted(np.concatenate(first)) == list(range(1000))
    assert {len(items) for items in first[:-1]} == {32}
    assert not np.array_equal(first[0], second[0])
    assert all(np.array_equal(a, b) for a, b in zip(first, some.order(0), strict=True))
