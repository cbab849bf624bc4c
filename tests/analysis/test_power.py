"""The power of a plan's seeds, against statsmodels and hand computation."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.power import TTestPower
from typer.testing import CliRunner

from harness.analysis.averages import get_average
from harness.analysis.columns import part_of_suite, terms_of
from harness.analysis.power import PARTS, PRIORS, power_line
from harness.analysis.seed_spread import measured_spread
from harness.analysis.statistics.variance import (
    Components,
    minimum_detectable_difference,
    minimum_margin,
    seeds_needed,
)
from harness.cli.app import app
from harness.experiment.arms import combinations, resolve_arm
from harness.experiment.declaration import Declaration
from harness.experiment.experiment import Experiment
from harness.plan.factory import make_plan
from harness.plan.plan import Plan
from harness.tasks import SUITES
from tests.paths import ROOT

SUITE = "micro-glue-v1"


def planned(**fields: Any) -> Plan:
    base = {
        "name": "x",
        "question": "which?",
        "pretrain": {"size": "nano", "corpus": "microworld", "budget": {"tokens": 100_000}},
        "evaluate": {"suite": SUITE},
        "grid": {"pretrain.objective.sentence_pair": ["nsp", "none"]},
        "seeds": {"pretrain": 3},
    }
    experiment = Experiment.model_validate(base | fields)
    arms = [resolve_arm(experiment, *picked) for picked in combinations(experiment.grid)]
    return make_plan(Declaration(experiment, tuple(arms)))


def results(averages: dict[str, list[list[float]]], suite: str = SUITE) -> pd.DataFrame:
    """Of arms with averages [pretraining seeds][fine-tuning seeds] in points, the same in every
    column."""
    return pd.DataFrame(
        {
            "arm": arm,
            "suite": suite,
            "task": column.task,
            "split": column.split,
            "metric": metric,
            "pretrain_seed": pretrain,
            "finetune_seed": finetune,
            "value": average / 100,
        }
        for arm, seeds in averages.items()
        for pretrain, runs in enumerate(seeds)
        for finetune, average in enumerate(runs)
        for column in SUITES[suite].columns
        for metric in column.metrics
    )


def detectable(line: str) -> float:
    found = re.search(r"from about ([\d.]+) points", line)
    assert found
    return float(found[1])


def power_line_of(plan: Plan, earlier: Sequence[pd.DataFrame] = ()) -> str:
    line = power_line(plan, measured_spread(plan.experiment.evaluate, earlier))
    assert line
    return line


def test_without_results_the_prior_speaks() -> None:
    line = power_line_of(planned())
    components = Components(PRIORS["micro-glue"] ** 2, 0.0, 0.0)
    effect = minimum_detectable_difference(components, 3, 1)
    assert detectable(line) == pytest.approx(effect, abs=0.05)
    assert f"one point takes {seeds_needed(components, 1.0, 1)}" in line
    assert "committed reports on micro-glue" in line


def test_arms_of_the_same_checkpoints_are_paired_as_in_reports() -> None:
    """Nothing but the fine-tuning differs: statsmodels' paired test, at 2 variances an arm."""
    line = power_line_of(planned(grid={"evaluate.finetune.epochs": [1, 2]}))
    effect = TTestPower().solve_power(nobs=3, alpha=0.05, power=0.8)
    assert detectable(line) == pytest.approx(effect * np.sqrt(2) * PRIORS["micro-glue"], abs=0.05)
    assert "or less because arms share checkpoints" in line
    in_all = PRIORS["micro-glue"] * np.sqrt(2)
    needed = TTestPower().solve_power(effect_size=1 / in_all, alpha=0.05, power=0.8)
    assert f"one point takes {np.ceil(needed):.0f} seeds" in line


def test_margins_and_deviations_of_the_same_checkpoints_are_those_of_the_paired_test() -> None:
    grid, arms = {"evaluate.finetune.epochs": [1, 2]}, "epochs=1 {} epochs=2 within {:g}"
    unit = Components(1.0, 0.0, 0.0)
    equal = minimum_margin(unit, 3, 1, paired=True)
    detected = TTestPower().solve_power(nobs=3, alpha=0.05, power=0.8) * np.sqrt(2)
    for sign, least in (("=", equal), (">=", detected)):
        for factor in (0.98, 1.02):
            text = arms.format(sign, round(factor * least * PRIORS["micro-glue"], 3))
            line = power_line(planned(grid=grid, expect=[text])) or ""
            assert (f"equal arms confirm '{text}'" in line) == (factor < 1)
    unknown = planned(grid=grid, evaluate={"suite": "micro-overlap-v1"})
    assert f"differences from {detected:.1f} standard deviations" in (power_line(unknown) or "")


def test_arms_that_share_worlds_are_paired_as_in_reports() -> None:
    """With 3 worlds, the unpaired figure (16.8) is one that the paired test detects in 62 %."""
    line = power_line_of(planned(seeds={"pretrain": 3, "world": "per_seed"}))
    effect = TTestPower().solve_power(nobs=3, alpha=0.05, power=0.8)
    assert detectable(line) == pytest.approx(effect * np.sqrt(2) * PRIORS["micro-glue"], abs=0.05)
    assert "or less because arms share worlds" in line


def test_a_part_of_a_suite_has_its_own_spread() -> None:
    """Averages of the part: 60, 64; the other tasks, which a run lacks, are not needed."""
    frame = results({"a": [[60.0], [64.0]]}).query("task in ['micro-sst2', 'micro-rte']")
    part = planned(evaluate={"suite": SUITE, "tasks": ["micro-sst2", "micro-rte"]})
    assert "between seeds: 2.8 points in 1 arm of the store" in power_line_of(part, [frame])
    assert "in committed reports on all of micro-glue" in power_line_of(part)


def test_earlier_results_are_believed_rather() -> None:
    """Variances of 1 and 3, and an arm that does not move; another suite does not count."""
    here = results(
        {"a": [[50.0], [51.0], [52.0]], "b": [[50.0], [53.0], [53.0]], "c": [[50.0]] * 3}
    )
    other = results({"a": [[1.0], [90.0]]}, suite="micro-glue-v2")
    line = power_line_of(planned(), [other, here])
    assert "between seeds: 1.4 points in 2 arms of the store on micro-glue-v1" in line
    effect = minimum_detectable_difference(Components(2.0, 0.0, 0.0), 3, 1)
    assert detectable(line) == pytest.approx(effect, abs=0.05)


def test_the_variances_of_fine_tuning_and_pretraining_are_separated() -> None:
    """Means 52 and 54, each of runs 2 apart: more fine-tuning runs per seed separate the two."""
    earlier = [results({"a": [[51.0, 53.0], [53.0, 55.0]]})]
    few, many = (
        detectable(power_line_of(planned(seeds={"pretrain": 3, "finetune": n}), earlier))
        for n in (1, 4)
    )
    # Within 2, between (4 - 2) / 2 = 1: variances 1 + 2 / 1 and 1 + 2 / 4.
    assert few / many == pytest.approx(np.sqrt(3 / 1.5), rel=0.02)
    lines = [power_line_of(planned(seeds={"pretrain": 3, "finetune": n}), earlier) for n in (1, 4)]
    assert "between seeds: 1.7 points" in lines[0] and "between seeds: 1.2 points" in lines[1]


def test_the_variance_of_several_arms_is_that_within_arms() -> None:
    """The mean square within groups of an analysis of variance: seeds count, and not arms."""
    arms = {"a": [50.0, 52.0], "b": [50.0, 51.0, 52.0, 53.0], "c": [40.0, 49.0, 41.0]}
    within = sum(((np.array(own) - np.mean(own)) ** 2).sum() for own in arms.values())
    frame = results({arm: [[score] for score in own] for arm, own in arms.items()})
    spread = measured_spread(planned().experiment.evaluate, [frame])
    assert spread and np.isnan(spread.components.finetune)
    assert spread.components.pretrain == pytest.approx(within / (1 + 3 + 2))


def test_arms_with_several_fine_tuning_runs_count_alone() -> None:
    """That of the others is not known to be of pretraining."""
    frame = results({"a": [[51.0, 53.0], [53.0, 55.0]], "b": [[10.0], [90.0]]})
    spread = measured_spread(planned().experiment.evaluate, [frame])
    assert spread and spread.source == "1 arm of the store on micro-glue-v1"
    found = spread.components
    assert (found.pretrain, found.finetune) == pytest.approx((1, 2))  # as above


def test_one_seed_tells_nothing_apart() -> None:
    line = power_line_of(planned(seeds={"pretrain": 1}))
    assert line.startswith("one pretraining seed cannot show that arms differ; 5 seeds")


def test_a_difference_above_100_points_cannot_be_shown() -> None:
    line = power_line_of(planned(seeds={"pretrain": 2}), [results({"a": [[0.0], [90.0]]})])
    assert line.startswith("2 pretraining seeds cannot show that arms differ; 5 seeds")


def test_margins_that_equal_arms_rarely_confirm_are_named() -> None:
    """With 3 seeds, 80 % of equal arms are confirmed within 3.16 standard deviations by two
    one-sided tests at 5 %, and within 3.51 by the one of non-inferiority at 2.5 %."""
    arms = "sentence_pair=nsp {} sentence_pair=none within {:g}"

    def named(sign: str, deviations: float) -> bool:
        text = arms.format(sign, round(deviations * PRIORS["micro-glue"], 3))
        line = power_line(planned(expect=[text])) or ""
        return f"equal arms confirm '{text}' in less than 80 %" in line

    assert [named("=", size) for size in (3.1, 3.2, 3.4)] == [True, False, False]
    assert [named(">=", size) for size in (3.1, 3.4, 3.6)] == [True, True, False]
    both = [arms.format(">=", 2), arms.format("=", 3), "sentence_pair=nsp > sentence_pair=none"]
    line = power_line(planned(expect=both)) or ""
    assert f"equal arms confirm '{both[0]}', '{both[1]}' in less than 80 %" in line


def test_margins_are_those_of_means_over_fine_tuning_seeds() -> None:
    """Variances of 1 between pretraining seeds and 2 within: 1.5 of a mean over four runs."""
    earlier = [results({"a": [[51.0, 53.0], [53.0, 55.0]]})]
    least = minimum_margin(Components(1.0 + 2.0 / 4, 0.0, 0.0), 3, 1)
    for factor in (0.98, 1.02):
        margin = round(factor * least, 3)
        text = f"sentence_pair=nsp = sentence_pair=none within {margin:g}"
        plan = planned(seeds={"pretrain": 3, "finetune": 4}, expect=[text])
        assert (f"equal arms confirm '{text}'" in power_line_of(plan, earlier)) == (factor < 1)


def test_an_arm_with_one_run_is_not_compared_with_power() -> None:
    """One run of a checkpoint, whatever the seeds."""
    plan = planned()
    one, other = plan.arms
    model = one.pretrain.model.model_copy(update={"checkpoint": "some/checkpoint"})
    given = replace(one, pretrain=one.pretrain.model_copy(update={"model": model}))
    assert given.has_one_run and not other.has_one_run and power_line(plan)
    declaration = replace(plan.declaration, arms=(given, other))
    assert power_line(replace(plan, declaration=declaration)) is None


def test_seeds_that_are_there_are_not_proposed() -> None:
    line = power_line_of(planned(seeds={"pretrain": 5}))
    assert "5 seeds from" not in line
    assert "10 seeds from" in line


def test_an_unknown_spread_is_the_unit() -> None:
    unknown = planned(evaluate={"suite": "micro-overlap-v1"})
    effect, with_five = (
        minimum_detectable_difference(Components(1.0, 0.0, 0.0), seeds, 1) for seeds in (3, 5)
    )
    line = power_line(unknown) or ""
    assert f"{effect:.1f} standard deviations between seeds (80 % power)" in line
    assert f"; 5 seeds from {with_five:.1f}; 10" in line and len(line) <= 120
    one = planned(evaluate={"suite": "micro-overlap-v1"}, seeds={"pretrain": 1})
    assert (power_line(one) or "").startswith("one pretraining seed cannot show that arms differ")


def test_no_line_for_one_arm() -> None:
    assert power_line(planned(grid={})) is None
    incomplete = results({"a": [[50.0], [51.0]]}).query("task == 'micro-sst2'")
    assert "committed reports" in power_line_of(planned(), [incomplete])


def test_every_prior_is_of_a_suite() -> None:
    assert set(PRIORS) <= {name.rpartition("-v")[0] for name in SUITES}


def reported() -> Iterator[tuple[str, bool, str, pd.Series]]:
    """Suite without its version, whether some of its tasks are left out, arm, and the averages in
    points by pretraining seed, over the first fine-tuning seed, of each arm of the reports."""
    for path in sorted((ROOT / "reports").glob("**/scores.csv")):
        frame = pd.read_csv(path).query("pretrain_fraction == 1 and finetune_seed == 0")
        for name in SUITES.keys() & set(frame["suite"]):
            own = frame[frame["suite"] == name]
            suite = part_of_suite(SUITES[name], sorted(own["task"].unique()))
            cells = own.pivot(
                index=["arm", "pretrain_seed"], columns=["task", "split", "metric"], values="value"
            )
            terms = [
                np.mean([cells[c.task, c.split, m] for c in term for m in c.metrics], axis=0)
                for term in terms_of(get_average(suite.average), suite)
            ]
            averages = pd.Series(100 * np.mean(terms, axis=0), cells.index).dropna()
            is_part = set(own["task"]) != set(SUITES[name].tasks)
            for arm, values in averages.groupby("arm"):
                yield name.rpartition("-v")[0], is_part, str(arm), values


def test_priors_are_the_spread_of_the_committed_reports() -> None:
    found: dict[str, list[float]] = {}
    for family, is_part, arm, values in reported():
        varies = values.nunique() > 1 and not (family in PARTS and "electra" in arm)
        if family in PRIORS and is_part == (family in PARTS) and varies:
            found.setdefault(family, []).append(values.var(ddof=1))
    spreads = {family: np.sqrt(np.mean(variances)) for family, variances in found.items()}
    assert spreads == pytest.approx(PRIORS, rel=0.2)
    line = power_line(planned(evaluate={"suite": "glue-v1"}))
    assert line and line.endswith("0.8 points in committed reports on some tasks of glue")


def test_the_documented_power_is_that_of_the_prior() -> None:
    line = power_line(planned(evaluate={"suite": "glue-v1"})) or ""
    least, *more = re.findall(r"(?:from about|seeds from) ([\d.]+)", line)
    text = "it is {} points with 3 seeds, {} with 5 and {} with 10, where seeds spread by {} points"
    docs = (ROOT / "docs" / "statistics.md").read_text().replace("\n", " ")
    assert text.format(least, *more, PRIORS["glue"]) in docs


def test_the_command_reads_the_store_that_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = results({"a": [[50.0], [51.0], [52.0]]}).assign(experiment="earlier")
    scores.assign(key=range(len(scores))).to_parquet(tmp_path / "results.parquet")
    (tmp_path / "experiment.yaml").write_text("arms: {}")
    store = SimpleNamespace(
        root=tmp_path,
        experiments=lambda: {"earlier": tmp_path},
        finished=dict,
        tracked=lambda name: [],
        specs=lambda records: {},
    )
    monkeypatch.setattr("harness.store.store.existing_store", lambda folder: store)
    path = ROOT / "experiments" / "quickstart.yaml"
    output = CliRunner().invoke(app, ["plan", str(path), "--store", str(tmp_path)]).output
    assert "between seeds: 1.0 points in 1 arm of the store on micro-glue-v1" in output
