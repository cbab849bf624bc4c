"""Verdicts at declared looks: of the first seeds, at the level of the look."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import harness
from harness.analysis.comparison.differences import AVERAGE
from harness.analysis.statistics.multiple_testing import holm
from harness.analysis.statistics.sequential import nominal_levels, repeated_p
from harness.execution.run_plan import run_plan
from harness.leaderboard.build import experiment_comparer
from harness.plan.factory import load_plan
from harness.report.comparison import compared_arms
from harness.report.declared import declared_expectations
from harness.report.difference_tables import claimed_interval
from harness.report.expectations import claims
from harness.report.looks import current_look, finished_seeds, look_note, threats_of_looks
from harness.report.page import write_report
from harness.report.summary import summary
from harness.report.verdict import judge
from harness.store.declared import Declared
from harness.store.looks import MadeLook, read_looks
from harness.store.store import Store
from tests.made_up_results import expecting, table_of

SKILLS = {"a": 0.6, "b": 0.9}


@pytest.fixture
def looked(fabricate):
    """Made-up results of two arms with six seeds, of which some have finished."""

    def make(*expect, finished=6, looks=(2, 4), skills=SKILLS, **frames):
        data = fabricate(skills, seeds=(6, 1), **frames)
        seeds = {"pretrain": 6, "finetune": 1, "looks": looks}
        data = expecting(data.but(seeds=seeds), *(expect or ["b > a"]))
        kept = {run.key for run in data.plan.finetune_runs if run.pretrain_seed < finished}
        data.__dict__["finished"] = {k: v for k, v in data.finished.items() if k in kept}
        return data

    return make


def verdicts_of(data):
    return [judge(one) for one in claims(data, data.get(compared_arms))]


@pytest.mark.parametrize(
    ("finished", "used", "place"), [(3, 2, 1), (4, 4, 2), (5, 4, 2), (6, 6, 3)]
)
def test_a_verdict_is_of_the_first_seeds_at_the_level_of_the_look(
    looked, fabricate, finished, used, place
):
    data = looked(finished=finished)
    (verdict,) = verdicts_of(data)
    # The same seeds alone: the part of an experiment that has no others.
    alone = looked(looks=()).of_first_seeds(used, 0.95)
    found = experiment_comparer(alone, table_of(alone))("b", "a")[AVERAGE]
    level = nominal_levels([2, 4, 6], "obrien_fleming")[place - 1]
    assert verdict.claim.found.num_seeds == used
    assert verdict.claim.p_of_look == pytest.approx(found.p_value)
    assert verdict.claim.found.estimate == pytest.approx(found.estimate)
    expected = repeated_p(found.p_value, place - 1, [2, 4, 6], "obrien_fleming")
    assert verdict.claim.found.p_value == pytest.approx(expected)
    assert verdict.reason.startswith(f"look {place} of 3, at p < {level:.2g}: the interval ")
    width = verdict.claim.found.high - verdict.claim.found.low
    assert width > found.high - found.low
    assert (verdict.word == "confirmed") == (found.p_value < level)


def test_the_interval_excludes_zero_where_p_is_below_the_level(looked):
    words = []
    for skill in np.linspace(0.6, 0.9, 7):
        (verdict,) = verdicts_of(looked(finished=4, skills={"a": 0.6, "b": float(skill)}))
        found = verdict.claim.found
        assert (found.low > 0 or found.high < 0) == (found.p_value < 0.05)
        words.append(verdict.word)
    assert {"confirmed", "inconclusive"} <= set(words)


def test_before_the_first_look_there_is_no_difference(looked):
    (verdict,) = verdicts_of(looked(finished=1))
    assert verdict.word == "inconclusive" and verdict.claim.found is None
    assert verdict.reason == "the first look is at 2 seeds of every arm"
    assert verdict.claim.adjusted is None


def test_an_arm_that_lacks_a_seed_keeps_the_look_before(looked):
    data = looked(finished=6)
    del data.finished["a-mrpc-3-0"]
    assert data.get(finished_seeds) == 3 and data.get(current_look).num_seeds == 2


def test_holms_correction_is_of_p_adjusted_for_looks(looked):
    both = verdicts_of(looked("b > a", "b above 70", finished=4))
    adjusted = holm([one.claim.found.p_value for one in both])
    assert [one.claim.adjusted for one in both] == pytest.approx(adjusted)
    alone = holm([one.claim.p_of_look for one in both])
    assert all(adjusted >= alone)


def test_an_equality_is_judged_by_one_sided_levels(looked):
    (verdict,) = verdicts_of(looked("b = a within 20", finished=4))
    level = nominal_levels([2, 4, 6], "obrien_fleming", sides=1)[1]
    assert verdict.reason.startswith(f"look 2 of 3, at p < {level:.2g}: ")


def test_without_looks_nothing_changes(looked, fabricate):
    data = looked(looks=())
    (verdict,) = verdicts_of(data)
    assert data.get(current_look) is None and look_note(data) == ""
    assert (verdict.claim.look, verdict.claim.p_of_look) == ("", None)
    assert "look" not in verdict.reason and not list(threats_of_looks(data))
    plain = data.get(compared_arms)("b", "a")[AVERAGE]
    assert (verdict.claim.found.low, verdict.claim.found.p_value) == (plain.low, plain.p_value)


def test_the_page_says_what_the_looks_are(looked, tmp_path: Path):
    data = looked(finished=4)
    write_report(data, tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "Looks at 2, 4, 6 seeds per arm were declared" in page
    assert "exactly the first 4 seeds" in page
    (verdict,) = verdicts_of(data)
    shown = claimed_interval(verdict.claim)
    assert shown in page and " (repeated), p " in shown and ", adjusted for looks " in shown
    row = (tmp_path / "verdicts.csv").read_text().splitlines()[1].split(",")
    assert row[7] == f"{verdict.claim.found.p_value:.10g}"  # what the board corrects


MADE = {2: MadeLook("2026-01-01", 6, False), 4: MadeLook("2026-01-02", 6, False)}


def test_looks_that_were_not_declared_are_a_threat(looked):
    (threat,) = threats_of_looks(looked(looks=(), looks_made=MADE))
    assert threat.startswith("Verdicts were shown with 2 and 4 seeds per arm before those with 6")
    assert threat in summary(looked(looks=(), looks_made=MADE)).threats
    data = looked(finished=2, looks=(), looks_made=MADE)  # not before these
    assert not list(threats_of_looks(data))
    (threat,) = threats_of_looks(looked(looks=(4,), looks_made={2: MADE[2]}))
    assert "with 2 seeds per arm before those with 6" in threat
    assert looked(looks=(4,), looks_made=MADE).get(current_look).counts == (4, 6)


def test_a_look_that_was_made_is_spent(looked):
    made = {2: MadeLook("2026-01-01", 6, True)}
    data = looked(looks=(), looks_made=made)
    assert data.get(current_look).counts == (2, 6) and not list(threats_of_looks(data))
    assert looked(looks=(4,), looks_made=made).get(current_look).counts == (2, 4, 6)


def test_another_end_after_a_look_is_a_threat(looked):
    (threat,) = threats_of_looks(looked(looks_made={2: MadeLook("2026-01-01", 5, True)}))
    assert "at 2 seeds per arm were shown when 5 were planned, not 6" in threat


def test_looks_that_are_declared_after_results_are_a_threat(looked):
    text = "looks at 2, 4 of 6 seeds (obrien_fleming)"
    assert looked().experiment.seeds.looks_text == text
    late = {text: Declared("2026-01-01", 5, 12)}
    (threat,) = threats_of_looks(looked(declared=late))
    assert threat.startswith(f"The {text} were first declared after 5 of the 12 stages")
    early = {text: Declared("2026-01-01", 0, 12)}
    assert not list(threats_of_looks(looked(declared=early)))


SMALL = """
name: small
question: Is it better?
pretrain:
  recipe: bag_of_words
  corpus: {source: microworld, num_tokens: 20_000}
  budget: {tokens: 0}
grid:
  kind:
    words: {}
    majority: {pretrain.recipe: majority}
expect: words > majority
evaluate: {tasks: [micro-sst2], protocol: {max_train_examples: 60}}
"""


def test_a_report_records_its_look(tmp_path: Path) -> None:
    file, store = tmp_path / "small.yaml", tmp_path / "store"
    file.write_text(SMALL + "seeds: {pretrain: 3, finetune: 1, looks: [2]}\n")
    run_plan(load_plan(file), Store(store), executor="serial", console=Console(quiet=True))
    study = harness.load(file, store=store)
    known = study.results.get(declared_expectations)
    assert known["looks at 2 of 3 seeds (obrien_fleming)"].finished == 0
    assert read_looks(store, "small") == {}
    text = str(study.summary())
    assert "look 2 of 2, at p < 0.046: " in text and "looks" not in text.partition("threats")[2]
    made = read_looks(store, "small")
    assert {number: (one.planned, one.declared) for number, one in made.items()} == {3: (3, True)}
    study.write_report()
    assert read_looks(store, "small") == made
    file.write_text(SMALL + "seeds: {pretrain: 5, finetune: 1, looks: [2, 4]}\n")
    more = harness.load(file, store=store)
    more.run(executor="serial")
    first, second = threats_of_looks(more.results)
    assert "were shown when 3 were planned, not 5" in first
    assert "looks at 2, 4 of 5 seeds (obrien_fleming) were first declared after" in second


def test_without_looks_a_report_records_its_seeds(tmp_path: Path) -> None:
    file, store = tmp_path / "small.yaml", tmp_path / "store"
    file.write_text(SMALL + "seeds: {pretrain: 2, finetune: 1}\n")
    study = harness.load(file, store=store)
    study.run(executor="serial")
    study.compare("words", "majority")
    made = read_looks(store, "small")
    assert {number: (one.planned, one.declared) for number, one in made.items()} == {2: (2, False)}
    assert not list(threats_of_looks(study.results))
    more = harness.load(file, "seeds.pretrain=3", store=store)
    more.run(executor="serial")
    assert "Verdicts were shown with 2 seeds per arm before those with 3" in str(more.summary())
