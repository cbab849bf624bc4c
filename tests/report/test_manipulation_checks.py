"""Expectations about arms that have learned nothing that could be compared."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from harness.analysis.frames.scores import PROBE_ITEM_COLUMNS
from harness.analysis.statistics.welch import welch
from harness.finetuning.distillation import TaskDistillation
from harness.report.comparison import compared_arms
from harness.report.expectations import claims
from harness.report.expected_differences import outcome_of_scores
from harness.report.manipulation_checks import _is_above, untrained_twins, void_level
from harness.report.page import write_report
from harness.report.verdict import Verdict, judge
from tests.made_up_results import UNTRAINED, MadeUpResults, expecting, with_recipes


def verdicts_of(data: MadeUpResults) -> list[Verdict]:
    return [judge(one) for one in claims(data, data.get(compared_arms))]


@pytest.fixture
def learned(fabricate: Any) -> MadeUpResults:
    """Arms above chance, one of which is as good as an untrained one."""
    skills = {"good": 0.97, "better": 0.995, "idle": 0.93, "scratch": 0.93}
    data = fabricate(skills, tasks=("mrpc",), seeds=(4, 1), examples=1000)
    return with_recipes(data, scratch=UNTRAINED)


def test_arms_not_above_an_untrained_network_make_a_comparison_void(
    learned: MadeUpResults, tmp_path: Any
) -> None:
    data = expecting(learned, "better > good", "good > idle", "idle = good within 1")
    valid, void, equal = verdicts_of(data)
    assert (valid.word, void.word, equal.word) == ("confirmed", "void", "void")
    assert void.reason.startswith("idle is not shown to be above scratch, an untrained network (")
    assert void.claim.found is not None  # the difference is shown all the same
    write_report(data, tmp_path)
    assert "- good > idle: **void**, +" in (tmp_path / "README.md").read_text()
    assert '<li class="void">' in (tmp_path / "index.html").read_text()


def test_an_expectation_about_the_untrained_network_is_the_check_itself(
    learned: MadeUpResults,
) -> None:
    words = [
        one.word for one in verdicts_of(expecting(learned, "good > scratch", "idle > scratch"))
    ]
    assert words == ["confirmed", "inconclusive"]


def test_arms_at_chance_make_a_comparison_void(fabricate: Any) -> None:
    data = fabricate({"good": 0.9, "fair": 0.7, "lost": 0.5}, tasks=("qnli",), seeds=(4, 1))
    data = expecting(data, "good > fair", "good > lost", {"qnli": "good > fair > lost"})
    assert [one.word for one in verdicts_of(data)] == ["confirmed", "void", "void"]
    assert verdicts_of(data)[1].reason.startswith("lost is not shown to be above chance (50.")


def test_a_baseline_that_guesses_need_not_be_above_chance(fabricate: Any) -> None:
    data = fabricate({"good": 0.9, "guess": 0.5}, tasks=("qnli",), seeds=(4, 1))
    families = {"pretrain.model.family": {"good": "bert", "guess": "majority"}}
    data = data.but(differences=families)
    (verdict,) = verdicts_of(expecting(data, "good > guess"))
    assert verdict.word == "confirmed"


def test_arms_that_are_all_at_the_highest_score_make_a_comparison_void(fabricate: Any) -> None:
    data = fabricate({"one": 1.0, "other": 1.0, "less": 0.8}, tasks=("qnli",), seeds=(3, 1))
    void, valid = verdicts_of(expecting(data, "one > other", "one > less"))
    assert void.word == "void"
    assert void.reason == "one and other are at the highest possible score (100.0) in every run"
    assert valid.word == "confirmed"


def test_noisy_arms_below_the_highest_score_are_judged(fabricate: Any) -> None:
    """Intervals of two seeds reach the maximum; the runs do not."""
    data = fabricate({"one": 0.97, "other": 0.95}, tasks=("qnli",), seeds=(2, 1), examples=60)
    (verdict,) = verdicts_of(expecting(data, "one > other"))
    assert verdict.claim.found and "highest possible score" not in verdict.reason


def test_one_run_at_the_highest_score_leaves_a_comparison_to_be_judged(fabricate: Any) -> None:
    data = fabricate({"one": 0.9, "other": 0.8}, tasks=("qnli",), seeds=(3, 1))

    def counts(key: str) -> Mapping[str, np.ndarray]:
        found = dict(data.counts(key))
        right = found["validation/accuracy"]
        return found | ({"validation/accuracy": np.ones_like(right)} if "-0-" in key else {})

    (verdict,) = verdicts_of(expecting(data.but(counts=counts), "one > other"))
    assert verdict.word != "void" and verdict.claim.found


@pytest.mark.parametrize("outcome", ["blimp", "blimp/wh_island"])
def test_probes_have_chance_and_a_highest_score(fabricate: Any, outcome: str) -> None:
    data, rng = fabricate({"one": 0.8, "other": 0.8}), np.random.default_rng(0)
    evaluate = {**data.experiment.evaluate.model_dump(), "probes": ["blimp"]}

    def results(share: float) -> MadeUpResults:
        rows = [
            (arm, "blimp", category, index, seed, float(rng.random() < share))
            for arm in ("one", "other")
            for seed in range(3)
            for category in ("wh_island", "npi_present_1")
            for index in range(100)
        ]
        items = pd.DataFrame(rows, columns=PROBE_ITEM_COLUMNS)
        return data.but(probe_items=items, evaluate=evaluate)

    def verdict(share: float) -> Verdict:
        return verdicts_of(expecting(results(share), {outcome: "one > other"}))[0]

    def level(share: float, least: float) -> list[str]:
        made = results(share)
        of = outcome_of_scores(made, made.get(compared_arms), outcome)
        return void_level(made, of, ("one", "other"), least)

    assert level(0.8, 50) == ["the level 50 is not above chance (50.0)"]
    assert level(0.8, 51) == [] and len(level(0.5, 51)) == 2
    assert "is not shown to be above chance (50.0" in verdict(0.5).reason
    assert "are at the highest possible score (100.0)" in verdict(1.0).reason
    assert verdict(0.8).word != "void"


def test_an_untrained_twin_has_the_same_architecture_and_adaptation(fabricate: Any) -> None:
    names = ("mlm", "gpt", "frozen", "scratch", "scratch_gpt")
    data = fabricate(dict.fromkeys(names, 0.8), tasks=("mrpc",))
    data = with_recipes(data, scratch=UNTRAINED, scratch_gpt=UNTRAINED)
    families = dict(zip(names, ("bert", "gpt2", "bert", "bert", "gpt2"), strict=True))
    ways = dict.fromkeys(names, "full") | {"frozen": "frozen"}
    differences = {"pretrain.model.family": families, "evaluate.adaptation": ways}
    data.plan = data.but(differences=differences).plan
    data = with_recipes(data, scratch=UNTRAINED, scratch_gpt=UNTRAINED)
    found = {name: untrained_twins(data, name) for name in names[:3]}
    assert found == {"mlm": ["scratch"], "gpt": ["scratch_gpt"], "frozen": []}
    families["gpt"] = "llama"
    assert untrained_twins(data, "gpt") == ["scratch", "scratch_gpt"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pretrain.budget.tokens", "confirmed"),
        ("evaluate.protocol.max_train_examples", "confirmed"),
        ("evaluate.continued_pretraining", "confirmed"),
        ("pretrain.corpus.steps", "confirmed"),
        ("pretrain.objective.kind", "void"),
        ("evaluate.finetune.learning_rate", "void"),
    ],
)
def test_what_more_training_does_shows_beside_an_arm_at_chance(
    fabricate: Any, path: str, expected: str
) -> None:
    data = fabricate({"more": 0.9, "less": 0.5}, tasks=("qnli",), seeds=(4, 1))
    data = data.but(differences={path: {"more": 2, "less": 1}})
    (verdict,) = verdicts_of(expecting(data, "more > less"))
    assert verdict.word == expected
    both = fabricate({"more": 0.5, "less": 0.5}, tasks=("qnli",), seeds=(4, 1))
    both = both.but(differences={path: {"more": 2, "less": 1}})
    (verdict,) = verdicts_of(expecting(both, "more > less"))
    assert verdict.word == "void"


def test_an_arm_at_the_ceiling_is_above_an_untrained_network(fabricate: Any) -> None:
    data = fabricate({"one": 1.0, "scratch": 0.5}, tasks=("qnli",), seeds=(3, 1))
    data = with_recipes(data, scratch=UNTRAINED)
    (verdict,) = verdicts_of(expecting(data, "one > scratch"))
    assert verdict.word == "confirmed"


def test_what_is_at_chance_cannot_lose(fabricate: Any) -> None:
    skills = {"tuned": 0.95, "noisy": 0.8, "scratch": 0.5, "scratch_noisy": 0.5}
    data = fabricate(skills, tasks=("qnli",), seeds=(4, 1), examples=1000)
    data = with_recipes(data, scratch=UNTRAINED, scratch_noisy=UNTRAINED)
    lost = "scratch - scratch_noisy > tuned - noisy"
    void, gained = verdicts_of(expecting(data, lost, "tuned - scratch > noisy - scratch_noisy"))
    assert (void.word, gained.word) == ("void", "confirmed")
    expected = "neither scratch nor scratch_noisy is shown to be above chance (50."
    assert void.reason.startswith(expected)


def test_an_untrained_network_at_chance_has_no_gap(fabricate: Any) -> None:
    skills = {"good": 0.95, "scratch": 0.5}
    data = fabricate(skills, tasks=("qnli", "sst2"), seeds=(4, 1), examples=1000)
    data = with_recipes(data, scratch=UNTRAINED)
    data = expecting(data, {"qnli - sst2": "scratch > good"}, {"qnli": "good > scratch"})
    gap, column = verdicts_of(data)
    assert (gap.word, column.word) == ("void", "confirmed")
    assert gap.reason.startswith("scratch is not shown to be above chance (50.")


@pytest.mark.parametrize("mean", [0.9, 1.2, 1.5, -1.7])
def test_an_arm_is_above_by_a_one_sided_test(mean: float) -> None:
    """Of five seeds with a standard error of 0.6, against scipy's t test."""
    scores = mean + 0.6 * np.sqrt(5) * scipy.stats.zscore(np.arange(5.0), ddof=1)
    found = welch(np.tile(scores, (3, 1)), np.zeros((3, 5)), paired=True, level=0.95)
    test = scipy.stats.ttest_1samp(scores, 0, alternative="greater")
    assert _is_above(found) == (test.pvalue < 0.05) == (mean > 1.28)


def test_a_teacher_at_chance_teaches_nothing(fabricate: Any) -> None:
    skills = {"lost": 0.5, "good": 0.9, "student": 0.8, "taught": 0.7, "well_taught": 0.9}
    data = fabricate(skills, tasks=("qnli",), seeds=(4, 1))
    teachers = {"taught": "lost", "well_taught": "good"}
    data = expecting(
        taught(data, teachers), "student > taught", "well_taught > student", "good > taught"
    )
    void, valid, own = verdicts_of(data)
    assert void.word == own.word == "void" and valid.word == "confirmed"
    assert void.reason.startswith("as a teacher, lost is not shown to be above chance (50.")
    (itself,) = verdicts_of(expecting(taught(data, teachers), "taught > lost"))
    assert itself.reason.startswith("lost is not shown") and "teacher" not in itself.reason


def test_an_untrained_teacher_above_chance_is_no_reason(fabricate: Any) -> None:
    skills = {"scratch": 0.85, "student": 0.9, "taught": 0.97}
    data = fabricate(skills, tasks=("qnli",), seeds=(4, 1), examples=1000)
    data = taught(with_recipes(data, scratch=UNTRAINED), {"taught": "scratch"})
    (verdict,) = verdicts_of(expecting(data, "taught > student"))
    assert verdict.word == "confirmed"


def taught(data: MadeUpResults, teachers: Mapping[str, str]) -> MadeUpResults:
    """The results with a teacher of the arms that are named."""
    arms = [
        replace(arm, evaluate=arm.evaluate.model_copy(update={"distillation": settings}))
        for arm in data.plan.arms
        for name in [teachers.get(arm.name)]
        for settings in [TaskDistillation(teacher=name) if name else None]
    ]
    data.plan = replace(data.plan, declaration=replace(data.plan.declaration, arms=tuple(arms)))
    return data
