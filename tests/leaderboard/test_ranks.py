"""Ranks with ties: arms that do not differ significantly, adjusted for all pairs, share a rank."""

from itertools import combinations

import numpy as np
import pytest
import scipy.stats

from harness.analysis.comparison.differences import AVERAGE, screened
from harness.analysis.statistics.bootstrap import Difference
from harness.analysis.statistics.multiple_testing import benjamini_hochberg, tie_groups
from harness.leaderboard import ranks as ties
from harness.leaderboard.build import experiment_comparer
from harness.leaderboard.markdown import markdown_escape
from harness.leaderboard.ranks import RANKING, rank_intervals, with_ties
from harness.leaderboard.render import render
from harness.leaderboard.table import Row, Score
from tests.made_up_results import pairs_of, table_of


def tied(data):
    table = table_of(data)
    return with_ties(table, experiment_comparer(data, table))


def test_arms_without_a_significant_adjusted_difference_share_a_rank(fabricate):
    data = fabricate({"good": 0.9, "alike": 0.9, "bad": 0.6, "worse": 0.55})
    table = tied(data)
    ranks = {row.name: row.rank for row in table.rows}
    assert {ranks["good"], ranks["alike"]} == {1}
    assert ranks["bad"] == 2
    best = {rank: next(row.name for row in table.rows if row.rank == rank) for rank in (1, 2)}
    pairs = pairs_of(data, table)
    p_values = benjamini_hochberg([pair.average.p_value for pair in pairs])
    for pair, p_value in zip(pairs, p_values, strict=True):
        names = {pair.first, pair.second}
        if names & set(best.values()):
            tied_up = len({ranks[name] for name in names}) == 1
            assert tied_up == (p_value >= 0.05)
    assert table.ranking == RANKING
    assert markdown_escape(RANKING) in render(table, "md")


def test_bold_is_the_first_rank_of_a_column(fabricate):
    table = tied(fabricate({"good": 0.9, "alike": 0.9, "bad": 0.6}))
    marks = {row.name: [s.best for s in (row.average, *row.scores)] for row in table.rows}
    assert all(marks["good"][:1]) and all(marks["alike"][:1]) and not any(marks["bad"][:2])
    lines = {line.split(" | ")[1]: line for line in render(table, "md").splitlines()[2:5]}
    assert "**" in lines["good"] and "**" in lines["alike"] and "**" not in lines["bad"]
    assert r"\textbf{" in render(table, "latex")
    assert '<td class="average"><b>' in render(table, "html")


def test_nothing_is_bold_if_no_arm_differs_significantly(fabricate):
    data = fabricate({"one": 0.8, "two": 0.8}, examples=30)
    table = tied(data)
    assert [row.rank for row in table.rows] == [1, 1]
    assert not any(score.best for row in table.rows for score in (row.average, *row.scores))


def test_one_pretraining_seed_has_no_rank_and_is_never_best(fabricate):
    data = fabricate({"good": 0.95, "bad": 0.55, "lucky": 0.99})
    rest = data.scores[(data.scores["arm"] != "lucky") | (data.scores["pretrain_seed"] == 0)]
    table = tied(data.but(scores=rest))
    assert [(row.name, row.rank) for row in table.rows] == [
        ("lucky", None),
        ("good", 1),
        ("bad", 2),
    ]
    assert [row.average.best for row in table.rows] == [False, True, False]


def test_one_pretraining_seed_in_a_column_has_no_rank_there_and_in_the_average(fabricate):
    """Its difference from the best is of one checkpoint, and so without a test: not a tie."""
    data = fabricate({"good": 0.95, "mid": 0.8, "bad": 0.55}, tasks=("sst2", "stsb"))
    scores = data.scores
    lost = (scores["arm"] == "mid") & (scores["task"] == "stsb") & (scores["pretrain_seed"] > 0)
    data = data.but(scores=scores[~lost])
    alone = table_of(data)
    assert [(row.name, row.rank) for row in alone.rows] == [("good", 1), ("mid", None), ("bad", 2)]
    good, mid, bad = with_ties(alone, experiment_comparer(data, alone)).rows
    assert [good.rank, mid.rank, bad.rank] == [1, None, 2]
    assert [good.rank_interval, mid.rank_interval, bad.rank_interval] == [(1, 1), None, (2, 2)]
    assert [one.seeds for one in (mid.average, *mid.scores)] == [1, 3, 1]


def test_one_pretraining_seed_in_a_column_is_never_best(fabricate):
    data = fabricate({"good": 0.95, "bad": 0.6, "lucky": 0.6}, tasks=("stsb", "sst2"))
    scores = data.scores
    chosen = (scores["arm"] == "lucky") & (scores["task"] == "stsb")
    scores = scores.assign(value=scores["value"].mask(chosen, 0.999))
    data = data.but(scores=scores[~chosen | (scores["pretrain_seed"] == 0)])
    table = tied(data)
    place = [column.name for column in table.columns].index("stsb")
    marks = {row.name: row.scores[place].best for row in table.rows}
    assert marks == {"good": True, "bad": False, "lucky": False}


def test_what_is_missing_is_unranked(fabricate):
    data = fabricate({"good": 0.95, "bad": 0.6})
    here = (data.scores["arm"] == "good") & (data.scores["task"] == "stsb")
    table = tied(data.but(scores=data.scores[~here]))
    assert {row.name: row.rank for row in table.rows} == {"bad": 1, "good": None}


def test_too_many_rows_keep_their_plain_ranks(fabricate, monkeypatch):
    monkeypatch.setattr(ties, "MAX_ROWS", 1)
    table = tied(fabricate({"one": 0.8, "two": 0.8}))
    assert [row.rank for row in table.rows] == [1, 2]
    assert "without significance tests: there are more than 60 rows" in render(table, "md")


def test_equal_data_gives_equal_tables(fabricate):
    data = fabricate({"good": 0.9, "bad": 0.6})
    assert tied(data) == tied(data)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_arms_does_not_matter(fabricate, seed):
    data = fabricate({"a": 0.9, "b": 0.7, "c": 0.7})
    turned = data.but(scores=data.scores.sample(frac=1, random_state=seed))
    assert [(r.name, r.rank) for r in tied(data).rows] == [
        (r.name, r.rank) for r in tied(turned).rows
    ]


@pytest.mark.parametrize(
    ("seeds", "better", "alone", "adjusted"),
    [(3, 0, 0.32, 0.02), (5, 0, 0.43, 0.03), (3, 4, 0.12, 0.07), (5, 4, 0.17, 0.12)],
)
def test_how_often_one_of_the_best_falls_behind(seeds, better, alone, adjusted):
    """Of 8 arms, all equal or some 5 standard deviations better: the shares in docs/statistics.md.
    The best arm is selected by its results, so unadjusted intervals separate too many arms."""
    rng = np.random.default_rng(seeds)
    places = list(combinations(range(8), 2))
    truth = np.repeat([0.0, 5.0], [8 - better, better])
    behind = []
    for _ in range(300):
        arms = rng.standard_normal((8, seeds)) + truth[:, None]
        first, second = (arms[[pair[side] for pair in places]] for side in (0, 1))
        p_values = scipy.stats.ttest_ind(first, second, axis=1, equal_var=False).pvalue
        pairs = dict(zip(places, p_values, strict=True))
        found = screened({at: Difference(0, 0, 0, p, seeds) for at, p in pairs.items()})
        behind.append([_falls_behind(arms, truth, p) for p in (pairs, found)])
    assert np.mean(behind, axis=0) == pytest.approx([alone, adjusted], abs=0.06)


def _falls_behind(arms, truth, p_values):
    separable = np.zeros((8, 8), dtype=bool)
    for (i, j), p in p_values.items():
        separable[i, j] = separable[j, i] = p < 0.05
    return (tie_groups(arms.mean(axis=1), separable)[truth == truth.max()] > 1).any()


def test_rank_intervals_by_hand():
    def row(name: str, seeds: int = 3) -> Row:
        return Row(name, (), Score(50.0), pretrain_seeds=seeds)

    p_values = {("a", "b"): 0.001, ("a", "c"): 0.02, ("b", "c"): 0.5}

    def compared(first: str, second: str) -> dict[str, Difference | None]:
        return {AVERAGE: Difference(1.0, 0.5, 1.5, p_values[first, second], 3)}

    rows = [row("a"), row("b"), row("c"), row("once", seeds=1)]
    # By Holm, 0.02 becomes 0.04 and stays significant: a is better than b and c.
    assert rank_intervals(rows, compared) == {"a": (1, 1), "b": (2, 3), "c": (2, 3)}
    p_values["a", "c"] = 0.03  # becomes 0.06
    assert rank_intervals(rows, compared) == {"a": (1, 2), "b": (2, 3), "c": (1, 3)}
