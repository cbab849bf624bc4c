"""Expected lengths against the batches that objectives make."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.models.flops import Lengths
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.cooccurrence import Cells
from harness.pretraining.objectives.expected_lengths import (
    CLOSED_FORMS,
    context_pairs,
    expected_lengths,
    expected_parts,
    measure,
)
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import Cooccurrence, NeighbourSentences
from harness.pretraining.objectives.sample_rows import SENTENCE
from harness.pretraining.objectives.targets import Batch, assemble, count_real
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.transforms.denoising import Denoising
from harness.pretraining.objectives.transforms.masking import TokenMasking
from harness.pretraining.objectives.transforms.order import Identity, Prefix
from harness.pretraining.objectives.transforms.spans import SpanCorruption
from tests.pretraining.objectives.transforms.texts import WORDS, equal_rows, make_rows

ROWS, TOKENS = 1000, 128


def batch_of(objective: Objective, rows: Any) -> Batch:
    rng = np.random.default_rng(0)
    if isinstance(objective.output, Cooccurrence):
        cells = Cells(*np.ones((3, rows.tokens.size), np.int64))
        return cells.batch(np.arange(rows.tokens.size).reshape(rows.tokens.shape))
    if isinstance(objective.output, NeighbourSentences):
        starts = rows.maskable & ((np.arange(rows.tokens.shape[1]) - 1) % SENTENCE == 0)
        rows = replace(rows, sentence_starts=starts)
    return assemble(
        rows, apply_transform(objective.transform, rows, rng, WORDS), objective, None, WORDS, 0
    )


def measured(objective: Objective, batch: Batch) -> Lengths:
    """Mean tokens of a row; in one stack, the target is in the same row as the source."""
    source = count_real(batch) / ROWS
    others = [batch[name] for name in ("backward_targets", "previous_targets") if name in batch]
    predicted = (len(batch["targets"]) + sum(map(len, others))) / ROWS
    if objective.output.kind == "neighbour_sentences":
        return Lengths(source, predicted, predicted)
    if objective.output.kind not in ("dropped_spans", "whole_text"):
        return Lengths(source, 0, predicted)
    apart = "decoder_input_ids" in batch
    return Lengths(source - (0 if apart else predicted), predicted, predicted)


def objectives() -> Iterator[Any]:
    for name, objective in OBJECTIVES.items():
        for number, (_, part) in enumerate(objective.components):
            if part.reads_identifiers:  # has lengths of programs: test_identifiers
                continue
            yield pytest.param(part, id=f"{name} {number}")
    stack = {"representation": "prefix", "output": "dropped_spans"}
    for transform in (
        SpanCorruption(mask_rate=0.5, mean_span_length=1),
        SpanCorruption(mask_rate=0.3, replacement="drop"),
        SpanCorruption(mask_rate=0.3, replacement="mask_token"),
        SpanCorruption(noise="iid", mask_rate=0.4),
        Prefix(min_target_fraction=0.3, max_target_fraction=0.5),
    ):
        yield pytest.param(Objective(transform=transform, **stack), id=repr(transform))
    text = {"representation": "causal", "output": "whole_text"}
    for noise in (
        Identity(),
        TokenMasking(mask_rate=0.4),
        Denoising(delete_rate=0.3, mask_rate=0.1),
        Denoising(infill_rate=0.5, poisson_lambda=1),
        Denoising(infill_rate=0.15, poisson_lambda=6, rotate_rate=1),
        Denoising(infill_rate=0.2, delete_rate=0.2),
    ):
        yield pytest.param(Objective(transform=noise, **text), id=repr(noise))
    replacing = Objective(transform=TokenMasking(with_replacement=True))
    yield pytest.param(replacing, id="with replacement")


@pytest.mark.parametrize("objective", list(objectives()))
def test_lengths_of_batches(objective: Objective) -> None:
    found = measured(objective, batch_of(objective, equal_rows(ROWS, TOKENS - 2)))
    expected = expected_lengths(objective, TOKENS)
    for name in ("source", "target", "predicted"):
        closed_form, mean = getattr(expected, name), getattr(found, name)
        assert mean == pytest.approx(closed_form, rel=0.04, abs=0.5), name


EXACT = (
    *("mlm", "clm", "bilm", "sequence_autoencoder", "cbow", "span_mlm", "span_corruption"),
    *("mass", "deshuffling", "skip_thought"),
)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("tokens", [4, 17, 128, 512])
def test_lengths_that_are_no_expectation(name: str, tokens: int) -> None:
    objective = OBJECTIVES[name].components[0][1]
    if name == "mass":
        objective = objective.model_copy(update={"transform": SpanCorruption(replacement="drop")})
    found = measured(objective, batch_of(objective, equal_rows(ROWS, tokens - 2)))
    assert found == expected_lengths(objective, tokens)


def test_lengths_of_t5() -> None:
    """t5/data/preprocessors.py `random_spans_helper`: 568 tokens of text make 512 and 114, with the
    end token and without our first token; the paper's last sentinel makes the target 115."""
    objective = OBJECTIVES["span_corruption"].components[0][1]
    assert expected_lengths(objective, 570) == Lengths(568 - 85 + 28 + 2, 115, 115)


def test_positions_drawn_with_replacement() -> None:
    """google-research/electra: of 19 draws over 125 tokens, 17.7 are distinct."""
    objective = Objective(transform=TokenMasking(with_replacement=True))
    assert expected_lengths(objective, 127).predicted == pytest.approx(17.7, abs=0.02)


@pytest.mark.parametrize(("size", "text"), [(1, 1), (3, 2), (3, 3), (5, 9)])
def test_pairs_of_skipgram(size: int, text: int) -> None:
    """Counted for each window in turn, as often as it is drawn."""
    pairs = [
        abs(one - other) <= window
        for window in range(1, size + 1)
        for one in range(text)
        for other in range(text)
        if one != other
    ]
    assert context_pairs(size, text) == pytest.approx(sum(pairs) / size)


def test_infilling_shortens_as_in_fairseq() -> None:
    """fairseq's `denoising_dataset` at rate 0.3 and mean 3: 418.2 of 512 tokens are left."""
    objective = OBJECTIVES["denoising_infill"].components[0][1]
    assert expected_lengths(objective, 514).source - 2 == pytest.approx(418.2, rel=0.01)


def test_a_mode_token_takes_one_of_the_text() -> None:
    parts = expected_parts(OBJECTIVES["ul2"], TOKENS)
    assert sum(share for share, _, _ in parts) == pytest.approx(1)
    for _, objective, lengths in parts:
        plain = expected_lengths(objective, TOKENS - 1)
        assert (lengths.source, lengths.target) == (plain.source + 1, plain.target)


def test_a_mode_token_is_read_in_place() -> None:
    objective = Objective()
    batch = batch_of(objective, make_rows([[TOKENS - 3]] * ROWS, mode=True))
    found = measured(objective, batch)
    assert found == expected_lengths(objective, TOKENS - 1, mode_token=True)


@pytest.mark.parametrize("tokens", [128, 512])
@pytest.mark.parametrize("objective", list(objectives()))
def test_closed_forms_agree_with_measurement(objective: Objective, tokens: int) -> None:
    """Infilling is asymptotic: 12 % below the measured source at 13 tokens."""
    transform = objective.transform
    if type(transform) not in CLOSED_FORMS:
        pytest.skip(f"{transform.kind} is measured")
    closed = CLOSED_FORMS[type(transform)](transform, tokens - 3, tokens)
    found = measure(transform, tokens - 3, tokens)
    for name in ("source", "chosen", "dropped"):
        expected, mean = getattr(closed, name), getattr(found, name)
        if not np.isnan(expected):  # no output needs it
            assert mean == pytest.approx(expected, rel=0.05, abs=0.5), name
