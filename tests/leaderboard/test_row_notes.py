"""Rows of another protocol, or with unfinished runs, are marked and say so."""

import csv
import io
import json
from dataclasses import replace

import pandas as pd
import pytest

from harness.leaderboard.boards import store_board
from harness.leaderboard.render import render
from harness.leaderboard.row_notes import unfinished, unlike_protocols
from harness.leaderboard.table import Table
from harness.store.recorded import RecordedExperiment, recorded_experiments
from harness.store.store import Store
from tests.filled_store import EVIL, fill

USUAL = {"protocol": {"pooling": "cls"}, "finetune": {"epochs": 3}}
OTHER = {"protocol": {"pooling": "mean"}, "finetune": {"epochs": 3}}
UNLIKE = "Protocol unlike that of most rows: protocol.pooling mean instead of cls."


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return fill(tmp_path_factory.mktemp("filled"))


def declared(experiment: RecordedExperiment, evaluate, **runs: int) -> RecordedExperiment:
    """The experiment with a fine-tuning protocol, and numbers of declared runs by arm."""
    arms = {name: arm | {"evaluate": evaluate} for name, arm in experiment.spec["arms"].items()}
    numbers = {arm: {"swag": number, "rte": 9} for arm, number in runs.items()}
    experiment.__dict__["spec"] = {**experiment.spec, "arms": arms, "runs": numbers}
    return experiment


@pytest.fixture
def table(store) -> Table:
    one, two = recorded_experiments(store)
    experiments = [declared(one, USUAL, good=6, **{EVIL: 2}), declared(two, OTHER, alike=6)]
    return store_board("swag", store, experiments=experiments).table


def test_a_board_marks_rows_of_another_protocol_and_unfinished_ones(table):
    gap = "2 of 6 declared runs are finished."
    assert table.row_notes == {"two: alike": (UNLIKE, gap), "one: good": (gap,)}


def test_every_format_marks_the_row_and_prints_the_note(table):
    order = [note for row in table.rows for note in table.row_notes.get(row.name, ())]
    gap, unlike = (f"‡{list(dict.fromkeys(order)).index(note) + 1}" for note in (order[-1], UNLIKE))
    markdown = render(table, "md")
    assert f"| one: good {gap} |" in markdown and f"- {unlike} {UNLIKE}" in markdown
    assert f"alike<span>{unlike} {gap}</span></th>" in render(table, "html")
    tex = render(table, "latex")
    assert rf"one: good $^\ddagger${gap[1:]} &" in tex and "pooling mean instead of cls" in tex
    lines = csv.DictReader(io.StringIO(render(table, "csv")))
    assert {line["arm"]: line["reason"] for line in lines}["two: alike"].startswith(UNLIKE)


def test_a_single_note_has_no_number_and_other_rows_no_mark(table):
    marked = render(replace(table, row_notes={"one: good": (UNLIKE,)}), "md")
    assert "| one: good ‡ |" in marked and "‡1" not in marked
    assert "‡" not in render(replace(table, row_notes={}), "md")


def test_without_a_protocol_of_most_rows_a_row_stands_for_it():
    found = unlike_protocols({"a": '{"x": {"k": 1}}', "b": '{"x": {"k": 1, "r": 8}}'})
    assert found == {"b": "Protocol unlike that of a: x.r 8 instead of unset."}
    searched = unlike_protocols({"a": "{}", "b": "{}", "c": '{"sweep": {"trials": 4}}'})
    assert searched["c"].endswith("most rows: sweep (trials 4) instead of unset.")
    assert unlike_protocols({}) == {}


def test_a_setting_that_a_search_selects_has_no_value_of_its_own():
    space = '"sweep": {"space": {"epochs": [3, 5]}, "trials": 4}'
    protocols = {
        "a": f'{{"finetune": {{"epochs": 6}}, {space}}}',
        "b": f'{{"finetune": {{"epochs": 2}}, {space}}}',
        "c": '{"finetune": {"epochs": 3}}',
    }
    found = unlike_protocols(protocols)
    assert [*found] == ["c"]
    assert "most rows: finetune.epochs 3 instead of searched, sweep unset instead" in found["c"]


def test_a_searched_setting_is_not_the_declared_one():
    """Of which no run has the value: a small network and a checkpoint have the same search."""
    space = {"learning_rate": [0.001, 0.003], "adaptation": {"lora": {"epochs": [1, 2]}}}
    sweep = {"trials": 2, "space": space}
    small, checkpoint = (
        {"finetune": {"learning_rate": rate, "epochs": epochs}, "sweep": sweep}
        for rate, epochs in ((0.001, 6), (5e-05, 3))
    )
    alone = {"finetune": {"learning_rate": 5e-05}}
    rows = {"small": small, "checkpoint": checkpoint, "alone": alone}
    found = unlike_protocols({row: json.dumps(protocol) for row, protocol in rows.items()})
    assert list(found) == ["alone"]
    assert "finetune.learning_rate 5e-05 instead of searched" in found["alone"]


def test_runs_are_counted_once_whatever_their_metrics():
    rows = [("a", "mrpc", 0, 0), ("a", "mrpc", 0, 0), ("a", "mrpc", 0, 1), ("a", "rte", 0, 0)]
    scores = pd.DataFrame(rows, columns=["arm", "task", "pretrain_seed", "finetune_seed"])
    planned = {"a": {"mrpc": 3, "rte": 1}, "b": {"mrpc": 1}}
    assert unfinished(scores, planned, {"mrpc"}) == {
        "a": "2 of 3 declared runs are finished.",
        "b": "0 of 1 declared runs are finished.",
    }
    assert unfinished(scores, planned, {"rte"}) == {}
    assert unfinished(scores, {"a": {"mrpc": 1}}, {"mrpc"}) == {}  # declared fewer since
