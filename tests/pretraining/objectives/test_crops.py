"""Crops of rows: contiguous, of the declared length, at every place."""

import numpy as np
import pytest

from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.crops import crops
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import Contrast, CorrectedToken
from tests.pretraining.objectives.transforms.texts import CLS, PAD, SEP, VOCABULARY, make_rows

ROWS = make_rows([[20], [7, 2], [1], [30]])


def cropped(share: float, seed: int = 0) -> tuple[list[list[int]], list[list[int]]]:
    """Tokens and segment numbers of each crop, without padding."""
    objective = Objective(output=CorrectedToken(contrast=Contrast(crop=share)))
    batch = crops(ROWS, objective, np.random.default_rng(seed), VOCABULARY)
    tokens, types = batch["crop_input_ids"], batch["crop_token_type_ids"]
    mask = batch["crop_attention_mask"].astype(bool)
    assert (tokens[~mask] == PAD).all()
    return [
        [row[real].tolist() for row, real in zip(array, mask, strict=True)]
        for array in (tokens, types)
    ]  # type: ignore[return-value]


@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 1.0])
def test_a_crop_is_a_contiguous_span_between_first_and_last_token(share: float) -> None:
    for row, crop in enumerate(cropped(share)[0]):
        text = ROWS.tokens[row, 1 : ROWS.lengths[row] - 1].tolist()
        kept = max(1, int(share * len(text)))
        assert (crop[0], crop[-1], len(crop)) == (CLS, SEP, kept + 2)
        starts = range(len(text) - kept + 1)
        assert crop[1:-1] in [text[start : start + kept] for start in starts]


def test_every_place_is_drawn() -> None:
    texts = {tuple(cropped(0.9, seed)[0][0]) for seed in range(60)}
    assert len(texts) == 3  # 18 of 20 tokens


def test_crops_follow_from_the_generator() -> None:
    assert cropped(0.5, 1) == cropped(0.5, 1) != cropped(0.5, 2)


def test_segments_are_kept() -> None:
    types = (np.arange(ROWS.tokens.shape[1]) > 8).astype(int) * np.ones_like(ROWS.tokens)
    rows = type(ROWS)(ROWS.tokens, types, ROWS.maskable, ROWS.lengths, ROWS.sentence_starts)
    objective = OBJECTIVES["coco_lm"]
    assert isinstance(objective, Objective)
    batch = crops(rows, objective, np.random.default_rng(0), VOCABULARY)
    numbers = batch["crop_token_type_ids"][0][:20].tolist()
    assert numbers == sorted(numbers)
    assert set(numbers) == {0, 1}


@pytest.mark.parametrize("name", ["mlm", "rtd", "corrective_lm"])
def test_only_a_contrast_has_crops(name: str) -> None:
    objective = OBJECTIVES[name]
    assert isinstance(objective, Objective)
    assert crops(ROWS, objective, np.random.default_rng(0), VOCABULARY) == {}
