"""Columns and order of a table."""

import pytest

from harness.leaderboard.build import build
from harness.leaderboard.cells import heads, row_cells
from harness.leaderboard.render import FORMATS, render
from harness.leaderboard.selection import sorted_by, with_columns
from harness.leaderboard.table import Table
from tests.leaderboard.test_build import whole_suite


@pytest.fixture(scope="module")
def table() -> Table:
    scores = whole_suite({"b": 0.9, "a": 0.5})
    wins = (scores["arm"] == "a") & (scores["task"] == "rte")
    scores.loc[wins, "value"] = 0.95
    scores = scores[(scores["arm"] != "b") | (scores["task"] != "cola")]
    return build(scores, "glue-v1", published=["roberta_data_steps"])


def names(table: Table) -> list[str]:
    return [row.name for row in table.rows]


def test_columns_are_cut_in_every_block_and_averages_stay(table: Table) -> None:
    few = with_columns(table, ["rte", "mnli"])
    labels = [column.name for column in few.columns]
    assert labels[0] == "rte" and {column.task for column in few.columns[1:]} == {"mnli"}
    frame, whole = few.to_frame(), table.to_frame()
    for column in ("rank", "arm", "average", *labels):
        assert frame[column].equals(whole[column])
    assert "sst2" not in frame
    for block in (few.rows, few.references, *(one.rows for one in few.published)):
        assert block and all(len(row.scores) == len(labels) for row in block)
    for format in FORMATS:
        shown = render(few, format).partition("Suite")[0]  # type: ignore[arg-type]
        assert "rte" in shown and "stsb" not in shown


def test_rows_are_sorted_best_first_and_missing_scores_last(table: Table) -> None:
    assert names(sorted_by(table, "rte")) == ["a", "b"]
    assert names(sorted_by(table, "sst2")) == ["b", "a"]
    assert names(sorted_by(table, "cola")) == ["a", "b"]
    assert names(sorted_by(table, "average")) == ["a", "b"]  # without CoLA, b has none
    assert names(sorted_by(sorted_by(table, "sst2"), "arm")) == ["a", "b"]


def test_unknown_names_are_refused(table: Table) -> None:
    with pytest.raises(ValueError, match="the column 'rta' is not known; did you mean 'rte'"):
        with_columns(table, ["rta"])
    with pytest.raises(ValueError, match="the column 'x' is not known; known: average, arm, "):
        sorted_by(table, "x")
    with pytest.raises(ValueError, match="mnli has several columns; name one of"):
        sorted_by(table, "mnli")


def test_an_average_is_not_printed_beside_the_only_column() -> None:
    scores = whole_suite({"a": 0.5})
    one, two = (build(scores, "glue-v1", tasks=[task]) for task in ("rte", "mnli"))
    assert heads(one) == ["rank", "arm", "rte (acc)", "seeds"]
    assert heads(two)[2] == "average"  # of both dev sets
    assert heads(with_columns(build(scores, "glue-v1"), ["rte"]))[2:4] == ["average", "rte (acc)"]
    for format, sign in (("md", "| average |"), ("html", ">average<"), ("latex", "& average &")):
        assert sign in render(two, format)  # type: ignore[arg-type]
        assert sign not in render(one, format)  # type: ignore[arg-type]
    assert all(len(row_cells(one, row)) == one.width == 4 for row in one.rows)
    assert "Average" not in render(one, "md")
    assert "average,average sd" in render(one, "csv")
    assert sorted_by(one, "average") == one


def test_a_part_of_a_suite_has_known_tasks_only() -> None:
    with pytest.raises(ValueError, match="glue-v1: the task 'rta' is not known"):
        build(whole_suite({"a": 0.5}), "glue-v1", tasks=["rta"])
