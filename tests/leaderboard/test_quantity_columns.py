"""Columns of losses, perplexity and costs: of an experiment and of a store."""

import csv
import io
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from harness.analysis.frames.quantities import VALUES
from harness.analysis.recording import RECORDED
from harness.cli.app import app
from harness.leaderboard.boards import board_table
from harness.leaderboard.build import experiment_table
from harness.leaderboard.cells import quantity_cells
from harness.leaderboard.quantity_columns import COLUMNS, OF_STORES, PERPLEXITY
from harness.leaderboard.render import FORMATS, render
from harness.leaderboard.selection import sorted_by
from harness.leaderboard.table import Table
from harness.report.page import write_report
from tests.filled_store import fill
from tests.made_up_results import MadeUpResults

LOSSES = {"good": (1.0, 1.2, 1.4), "bad": (2.0, 2.0, 2.0)}
BITS = {"good": (0.5, 0.6, 0.7)}


@pytest.fixture
def data(fabricate: Callable[..., MadeUpResults]) -> MadeUpResults:
    rows = [
        (arm, seed, 1.0, loss, BITS[arm][seed] if arm in BITS else math.nan)
        for arm, losses in LOSSES.items()
        for seed, loss in enumerate(losses)
    ]
    names = ["arm", "pretrain_seed", "seconds", "loss", "bits_per_byte"]
    made = fabricate({"bad": 0.6, "good": 0.9, "unknown": 0.5})
    return made.but(pretraining=pd.DataFrame(rows, columns=names))


def cells(table: Table, format: str = "csv") -> dict[str, dict[str, str]]:
    rows = csv.DictReader(io.StringIO(render(table, format)))  # type: ignore[arg-type]
    return {row["arm"]: row for row in rows}


def test_the_perplexity_is_that_of_each_seed_and_then_averaged(data: MadeUpResults) -> None:
    table = experiment_table(data, quantities=["perplexity", "bits_per_byte"])
    rows = cells(table)
    expected = [math.exp(loss) for loss in LOSSES["good"]]
    assert float(rows["good"]["perplexity"]) == pytest.approx(np.mean(expected), abs=1e-4)
    assert float(rows["good"]["perplexity sd"]) == pytest.approx(np.std(expected, ddof=1), abs=1e-4)
    assert float(rows["bad"]["perplexity"]) == pytest.approx(math.exp(2), abs=1e-4)
    assert float(rows["good"]["bits_per_byte"]) == pytest.approx(0.6)
    assert rows["bad"]["bits_per_byte"] == rows["unknown"]["perplexity"] == ""
    frame = table.to_frame().set_index("arm")
    assert frame.loc["bad", "perplexity"] == pytest.approx(math.exp(2))
    assert frame.loc["bad", "perplexity_sd"] == pytest.approx(0)
    assert pd.isna(frame["bits_per_byte"]["bad"])


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_shows_the_columns_and_says_what_they_compare(
    data: MadeUpResults, format: str
) -> None:
    table = experiment_table(data, quantities=["perplexity"])
    text, without = render(table, format), render(experiment_table(data), format)  # type: ignore
    assert "perplexity" in text and "perplexity" not in without
    if format != "csv":
        assert "7.389" in text
        assert "only arms with the same objective, vocabulary and held-out text" in " ".join(
            text.split()
        )


def test_the_least_is_first_and_rows_without_a_value_are_last(data: MadeUpResults) -> None:
    table = experiment_table(data, quantities=["loss"])
    assert [row.name for row in sorted_by(table, "loss").rows] == ["good", "bad", "unknown"]
    with pytest.raises(ValueError, match=r"'flops' is not known; .*known: average, arm, loss, "):
        sorted_by(table, "flops")


def test_every_column_has_values_and_what_is_unknown_is_refused(data: MadeUpResults) -> None:
    assert set(COLUMNS) - {PERPLEXITY} == set(VALUES)
    assert {PERPLEXITY, *RECORDED} == set(OF_STORES) <= set(COLUMNS)
    with pytest.raises(ValueError, match="--quantity 'perplexty' is not known; did you mean"):
        experiment_table(data, quantities=["perplexty"])


def test_a_report_has_no_columns_that_nobody_chose(data: MadeUpResults, tmp_path: Path) -> None:
    write_report(data, tmp_path)
    assert "perplexity" not in (tmp_path / "leaderboard.csv").read_text()


def test_boards_show_what_was_recorded(tmp_path: Path) -> None:
    store = fill(tmp_path)
    table = board_table("swag", store, quantities=["perplexity", "flops"])
    rows = cells(table)
    expected = (math.e + math.e**2) / 2
    assert float(rows["one: good"]["perplexity"]) == pytest.approx(expected, abs=1e-4)
    assert rows["one: good"]["flops"] == "3000000000"
    assert rows["two: alike"]["perplexity"] == rows["two: alike"]["flops"] == ""
    with pytest.raises(ValueError, match="--quantity 'weight_change' is not known; known: perple"):
        board_table("swag", store, quantities=["weight_change"])


def test_the_command_shows_and_sorts_by_a_quantity(tmp_path: Path) -> None:
    fill(tmp_path)
    words = ["leaderboard", "swag", "--quantity", "perplexity", "--sort", "perplexity"]
    result = CliRunner().invoke(app, [*words, "--store", str(tmp_path)])
    assert result.exit_code == 0, result.output
    first = result.output.splitlines()[2]
    assert "one: good" in first and "5.054 ± 3.303" in first
    result = CliRunner().invoke(
        app, ["leaderboard", "glue", "--published", "--quantity", "loss", "--store", str(tmp_path)]
    )
    assert result.exit_code == 2 and "--published allows only a name" in result.output


def test_rows_of_others_have_no_measured_values(data: MadeUpResults) -> None:
    """They may have the names of measured rows, as in a replication."""
    table = experiment_table(data, quantities=["loss"])
    (good,) = (row for row in table.rows if row.name == "good")
    assert quantity_cells(table, good) == ["1.200 ± 0.200"]
    assert quantity_cells(table, replace(good)) == [""]
