"""Arms near chance, and arms that are no better than what was never pretrained."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from harness.analysis.comparison.differences import AVERAGE, Comparer
from harness.leaderboard.build import experiment_runs
from harness.pretraining.recipes import RECIPES
from harness.report.chance_checks import (
    best_guess,
    chance_levels,
    controls,
    near_chance,
    near_controls,
    unknown_words,
)
from harness.report.comparison import compared_arms
from harness.tasks import TASKS
from tests.made_up_results import UNTRAINED, MadeUpResults, table_of, with_recipes

Fabricate = Callable[..., MadeUpResults]


def test_two_arms_that_tie_at_chance_are_named_with_their_scores(fabricate: Fabricate) -> None:
    data = fabricate({"one": 0.5, "other": 0.5}, tasks=("qnli",))
    (sentence,) = near_chance(data, table_of(data), data.get(compared_arms))
    means = data.scores.groupby("arm")["value"].mean() * 100
    level = 100 * (TASKS["qnli"].chance or 0.0)
    expected = f"(qnli ({level:.1f}; one {means['one']:.1f}, other {means['other']:.1f})"
    assert sentence == f"No arm is significantly above chance on {expected[1:]}."


def test_one_arm_at_chance_beside_one_that_learned(fabricate: Fabricate) -> None:
    data = fabricate({"good": 0.9, "bad": 0.5}, tasks=("qnli",))
    (sentence,) = near_chance(data, table_of(data), data.get(compared_arms))
    assert sentence.startswith("Some arms are not significantly above chance on qnli (")
    assert "bad" in sentence and "good" not in sentence
    learned = fabricate({"good": 0.9}, tasks=("qnli",))
    assert list(near_chance(learned, table_of(learned), learned.get(compared_arms))) == []


def test_the_interval_is_that_of_the_mean_against_a_constant(fabricate: Fabricate) -> None:
    """With one example set per run only the seeds count; both parts by hand."""
    data = fabricate({"one": 0.6}, tasks=("qnli",), seeds=(3, 1))
    table = table_of(data)
    outcome = data.get(compared_arms).outcomes[table.columns[0].name]
    found = outcome.above("one", 50.0)
    assert found is not None
    scores = 100 * data.scores["value"].to_numpy()
    assert found.estimate == pytest.approx(scores.mean() - 50)
    part_of_seeds = 4.302653 * scores.std(ddof=1) / np.sqrt(3)  # t with 2 degrees of freedom
    assert (found.high - found.low) / 2 >= part_of_seeds * (1 - 1e-6)
    assert outcome.above("absent", 50.0) is None


def test_levels_that_a_task_does_not_declare_come_from_its_labels(
    fabricate: Fabricate, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = fabricate({"one": 0.5}, tasks=("qnli", "cola"))
    for task in ("qnli", "cola"):
        undeclared = TASKS[task].model_copy(update={"chance": None})
        monkeypatch.setitem(TASKS, task, undeclared)
    table = table_of(data)
    assert all(row.name != "chance" for row in table.references)
    labels = data.predictions("one-qnli-0-0")["label"]
    share = max(np.mean(labels == 0), np.mean(labels == 1))
    found = chance_levels(data, table)
    assert found == {"cola": 0.0, "qnli": pytest.approx(100 * share)}


def test_no_guesses_are_expected_to_score_more_than_the_best() -> None:
    """Of any share q of guesses of class 1; the expected F1 of a class with share p is, by the
    ratio of expectations, 2 p q / (p + q)."""
    labels, guessed = [1] * 3 + [0] * 17, np.linspace(0, 1, 100_001)
    share = 3 / 20
    of_one = 2 * share * guessed / (share + guessed)
    of_zero = 2 * (1 - share) * (1 - guessed) / (2 - share - guessed)
    right = share * guessed + (1 - share) * (1 - guessed)
    scores = {"macro_f1": (of_one + of_zero) / 2, "micro_f1": right, "f1": of_one}
    for metric, of_guesses in scores.items():
        assert best_guess(metric, labels, 2) == pytest.approx(of_guesses.max(), abs=1e-6), metric
    assert best_guess("macro_f1", labels, 4) == 1 / 4  # two classes without an example


def test_macro_f1_without_declared_chance_has_a_level(
    fabricate: Fabricate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of own tasks, whose main metric it is where one class has most examples."""
    monkeypatch.setitem(TASKS, "qnli", TASKS["qnli"].model_copy(update={"chance": None}))
    data = fabricate({"one": 0.5}, tasks=("qnli",))
    table = table_of(data)
    columns = [one.model_copy(update={"metrics": ("macro_f1",)}) for one in table.columns]
    layout = replace(table.layout, columns=tuple(columns))
    assert chance_levels(data, replace(table, layout=layout)) == {"qnli": 50.0}


def test_arms_that_do_not_exceed_an_untrained_network(fabricate: Fabricate) -> None:
    data = fabricate({"good": 0.95, "idle": 0.6, "scratch": 0.6, "words": 0.6})
    data = with_recipes(data, scratch=UNTRAINED, words=RECIPES["bag_of_words"])
    compared = data.get(compared_arms)
    first, second = near_controls(data, compared)
    assert first.startswith("Not significantly above scratch, an untrained network, in the average")
    assert second.startswith("Not significantly above words, a baseline, in the average: ")
    found = compared("idle", "scratch")["average"]
    assert found is not None
    assert "idle (" in first and "good" not in first and "words (" not in first
    assert f"{found.estimate:+.1f}".replace("-", "−") in first


def test_a_network_that_learns_another_task_first_is_trained(fabricate: Fabricate) -> None:
    data = fabricate({"good": 0.95, "taught": 0.6, "scratch": 0.6})
    given = {"evaluate.intermediate_tasks": {"good": (), "taught": ["mnli"], "scratch": ()}}
    data = with_recipes(data.but(differences=given), taught=UNTRAINED, scratch=UNTRAINED)
    assert controls(data) == {"scratch": "an untrained network"}


def test_labels_cannot_teach_words_of_the_pretraining_text(
    fabricate: Fabricate, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = fabricate({"good": 0.95, "scratch": 0.5}, tasks=("sst2",))
    data = with_recipes(trained.but(), scratch=UNTRAINED)
    assert not [*unknown_words(data)]
    generated = TASKS["sst2"].model_copy(update={"data": TASKS["micro-sst2"].data})
    monkeypatch.setitem(TASKS, "sst2", generated)
    assert not [*unknown_words(trained)]
    (sentence,) = unknown_words(data)
    assert "without it (scratch), labels cannot teach them" in sentence


def test_intervals_stay_on_the_scale_of_their_metric(fabricate: Fabricate) -> None:
    """Two seeds of scores far apart: t with few degrees of freedom leaves the scale."""
    data = fabricate({"one": 0.5, "other": 0.5}, tasks=("qnli", "cola"), seeds=(2, 1))
    table, runs = table_of(data), data.get(experiment_runs)
    for arm in runs.values():
        for task in ("qnli", "cola"):
            scores = arm[task].scores
            for cell in scores:
                scores[cell][:] = np.array([0.05, 0.95])
    compared = Comparer(runs, table.layout, lambda *arms: False)
    outcomes = [compared.outcomes[column.name] for column in table.columns]
    accuracy, correlation = outcomes[0].above("one", 50.0), outcomes[1].above("one", 0.0)
    assert accuracy and (accuracy.low, accuracy.high) == (-50.0, 50.0)
    assert correlation and (correlation.low, correlation.high) == (-100.0, 100.0)
    found = compared("one", "other")
    ends = {name: one and (one.low, one.high) for name, one in found.items()}
    names = [column.name for column in table.columns]
    assert ends == {names[0]: (-100, 100), names[1]: (-200, 200), AVERAGE: (-150, 150)}
