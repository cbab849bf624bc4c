"""Batches as text: every objective, and the page of the documentation."""

import runpy
from itertools import islice
from pathlib import Path

import pytest

from harness.experiment.objective_samples import example_rows, objective_rows
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.objective import parts_of
from harness.pretraining.objectives.shown_batch import shown_rows
from tests.pretraining.objectives.test_conformance import maker, vocabulary

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", OBJECTIVES)
def test_shown_rows_are_those_of_the_batch(name: str) -> None:
    """Against the arrays of the batch: every input and every target stands in a row, in order."""
    for step in range(4):
        made = maker(name).made(step)
        rows = shown_rows(made, vocabulary(), lambda ids: [str(token) for token in ids])
        targets = [token.text for row in rows for token in row.targets]
        assert targets == [str(token) for token in made.batch["targets"]]
        ids, mask = made.batch["input_ids"], made.batch.get("attention_mask")
        read = [
            [str(token) for token in (row if mask is None else row[mask[number] == 1])]
            for number, row in enumerate(ids)
        ]
        is_joined = made.objective.predicts_text and "decoder_input_ids" not in made.batch
        for row, inputs in zip(rows, read, strict=True):
            shown = [token.text for token in row.inputs]
            # Without a decoder, the target follows the source in the same row.
            assert shown == (inputs[: len(shown)] if is_joined else inputs)
        assert len(rows) == len(made.batch["num_tokens"])


def test_chosen_tokens_of_masking_are_the_targets() -> None:
    for row in islice(example_rows(OBJECTIVES["mlm"]), 20):
        chosen = [token.text for token in row.text if token.role == "chosen"]
        assert chosen == [token.text for token in row.targets]
        changed = [token for token in row.inputs if token.role == "changed"]
        assert len(changed) <= len(chosen)  # 10 % of the chosen ones stay as they are


def test_a_mixture_shows_its_components_in_turn() -> None:
    modes = [part.mode_token for part in parts_of(OBJECTIVES["ul2"])]
    shown = objective_rows("ul2", 2 * len(modes))
    assert [row["input"].split()[1] for row in shown] == 2 * modes


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(ValueError, match="the objective"):
        objective_rows("mlmm", 1)


def test_the_page_of_examples_is_current() -> None:
    """python docs/make_objective_examples.py writes it."""
    made = runpy.run_path(str(DOCS / "make_objective_examples.py"))["page"]()
    assert made == (DOCS / "objective_examples.md").read_text()
