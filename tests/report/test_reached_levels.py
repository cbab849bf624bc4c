"""Tokens of pretraining, labels and epochs until a score reaches a level."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from harness.analysis.frames.scores import PROBE_COLUMNS
from harness.experiment.lines import FIELDS
from harness.experiment.outcomes import ReachedLevel
from harness.report.comparison import compared_arms
from harness.report.expectations import claims
from harness.report.page import write_report
from harness.report.reached_levels import ReachedAmounts, amount_to, reached_amounts
from harness.report.verdict import Verdict, judge
from tests.made_up_results import MadeUpResults, expecting

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
STEEP, FLAT = (60, 70, 80, 90, 95), (52, 55, 60, 70, 80)
"""Scores at SHARES: 75 is reached after 0.5 and after 0.9 of the tokens."""


def verdicts_of(data: MadeUpResults) -> list[Verdict]:
    return [judge(one) for one in claims(data, data.get(compared_arms))]


def with_curves(
    data: MadeUpResults, curves: dict[str, list[tuple[float, ...]]], shares: tuple[float, ...]
) -> MadeUpResults:
    """The same with these scores of SST-2, by arm and pretraining seed."""
    frames = []
    for place, share in enumerate(shares):
        values = [
            curves[row.arm][row.pretrain_seed][place] / 100 for row in data.scores.itertuples()
        ]
        frames.append(data.scores.assign(value=values, pretrain_fraction=share))
    ends = frames.pop().drop(columns="pretrain_fraction")
    return data.but(scores=ends, checkpoints=pd.concat(frames, ignore_index=True))


@pytest.fixture
def data(fabricate: Callable[..., MadeUpResults]) -> MadeUpResults:
    """`fast` and `slow` have four seeds each, whose curves lie a little apart; budget 1e6."""
    made = fabricate({"fast": 0.95, "slow": 0.8, "never": 0.6}, ("sst2",), (4, 1), 1000)
    curves = {
        arm: [tuple(np.add(curve, seed)) for seed in range(4)]
        for arm, curve in {"fast": STEEP, "slow": FLAT, "never": (51, 52, 53, 54, 55)}.items()
    }
    return with_curves(made, curves, SHARES)


@pytest.mark.parametrize(
    ("scores", "tokens"),
    [
        ((50, 70, 90), 250),  # 3/4 of the way from 100 to 300, as 65 is of that from 50 to 70
        ((50, 60, 61), 500),  # never: the whole budget
        ((50, 60, 70), 400),
        ((65, 60, 90), 100),  # at the first checkpoint
        ((50, 80, 60), 200),  # it falls again
        ((50, 65, 90), 300),
        ((50, 60, 65), 500),
    ],
)
def test_tokens_to_a_level_by_hand(scores: tuple[float, ...], tokens: float) -> None:
    assert amount_to(65, np.array([100.0, 300.0, 500.0]), np.array(scores, float)) == tokens


def test_the_curve_is_that_of_linear_interpolation() -> None:
    """Against a fine grid of numpy's interpolation."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        tokens, scores = np.sort(rng.random(6)), rng.random(6).cumsum()
        level = rng.uniform(scores[0], scores[-1])
        fine = np.linspace(tokens[0], tokens[-1], 200_001)
        first = fine[np.flatnonzero(np.interp(fine, tokens, scores) >= level)[0]]
        assert amount_to(level, tokens, scores) == pytest.approx(first, abs=1e-5)


def test_values_are_those_of_each_seed(data: MadeUpResults) -> None:
    found = reached_amounts(data, ReachedLevel(75, "sst2"), ("fast", "slow"))
    # 5, 4, 3 and 2 of the 10 points between two checkpoints that lie 2e5 tokens apart
    assert found.values["fast"] == pytest.approx([5e5, 4.8e5, 4.6e5, 4.4e5])
    assert found.values["slow"] == pytest.approx([9e5, 8.8e5, 8.6e5, 8.4e5])
    assert (found.never, found.at_once, found.runs) == (0, 0, 8) and not found.note
    average = reached_amounts(data, ReachedLevel(75, "average"), ("fast", "slow"))
    assert average.values["fast"] == pytest.approx(found.values["fast"])


def test_the_arm_that_reaches_a_level_first_is_confirmed(
    data: MadeUpResults, tmp_path: Path
) -> None:
    expect = [{"tokens to 75 on sst2": text} for text in ("fast < slow", "slow < fast")]
    data = expecting(data, *expect, {"tokens to 75 on average": "fast < slow < never"})
    right, wrong, trend = verdicts_of(data)
    assert [one.word for one in (right, wrong, trend)] == ["confirmed", "refuted", "confirmed"]
    assert str(right.claim.expectation) == "fast < slow in tokens to 75 on sst2"
    values = reached_amounts(data, ReachedLevel(75, "sst2"), ("fast", "slow")).values
    test = scipy.stats.ttest_ind(values["fast"], values["slow"], equal_var=False)
    assert right.claim.found and right.claim.found.p_value == pytest.approx(test.pvalue)
    assert "of 12 runs, 4 do not reach the level before the end and count" in trend.reason
    write_report(data, tmp_path)
    shown = (tmp_path / "README.md").read_text()
    assert "- fast \\< slow in tokens to 75 on sst2: **confirmed**, −400,000 tokens (95 %" in shown
    rows = pd.read_csv(tmp_path / "verdicts.csv")
    assert rows["unit"].tolist() == ["tokens"] * 3


def test_runs_that_are_all_cut_off_are_not_equal(data: MadeUpResults) -> None:
    expect = [{f"tokens to {level} on sst2": "fast < slow"} for level in (99.5, 51)]
    never, at_once = verdicts_of(expecting(data, *expect))
    assert never.word == at_once.word == "inconclusive"
    assert never.reason.endswith(
        "two checkpoints: 8 of 8 not before the end, 0 by the first checkpoint"
    )
    assert at_once.reason.endswith(
        "two checkpoints: 0 of 8 not before the end, 8 by the first checkpoint"
    )
    (apart,) = verdicts_of(expecting(data, {"tokens to 59 on sst2": "fast < never"}))
    assert apart.word == "inconclusive" and apart.claim.found.p_value == 1  # type: ignore


def test_arms_count_within_the_tokens_that_all_of_them_have(
    fabricate: Callable[..., MadeUpResults],
) -> None:
    """An arm that stops early without the level is not faster than one that reaches it later."""
    made = fabricate({"short": 0.6, "long": 0.95}, ("sst2",), (3, 1), 200)
    curves: dict[str, list[tuple[float, ...]]] = {
        "short": [(51, 52, 53)] * 3,
        "long": [(60, 60, 90 + s) for s in range(3)],
    }
    costs = made.costs.assign(tokens=made.costs["arm"].map({"short": 1e5, "long": 4e5}))
    data = with_curves(made, curves, (0.25, 0.5, 1.0)).but(costs=costs)
    found = reached_amounts(data, ReachedLevel(75, "sst2"), ("short", "long"))
    assert (found.first, found.last) == (1e5, 1e5)
    assert found.undecided and {*found.values["long"]} == {1e5}
    assert (found.never, found.at_once, found.runs) == (6, 0, 6)  # each counts once


def test_a_level_at_chance_and_arms_that_learn_nothing_are_void(
    fabricate: Callable[..., MadeUpResults], data: MadeUpResults
) -> None:
    (low,) = verdicts_of(expecting(data, {"tokens to 50 on sst2": "fast < slow"}))
    assert low.word == "void" and low.reason.startswith("the level 50 is not above chance (")
    made = fabricate({"a": 0.5, "b": 0.5, "c": 0.9}, ("sst2",), (3, 1), 200)
    ends = made.scores
    early = ends.assign(value=ends["value"] - 0.05, pretrain_fraction=0.5)
    idle = expecting(made.but(checkpoints=early), {"tokens to 60 on sst2": "a < b"})
    assert verdicts_of(idle)[0].word == "void"
    other = expecting(made.but(checkpoints=early), {"tokens to 87 on sst2": "c < b"})
    assert verdicts_of(other)[0].word != "void"


def test_arms_without_all_scores_decide_nothing(data: MadeUpResults) -> None:
    lost = data.checkpoints
    lost = lost[~((lost["arm"] == "slow") & (lost["pretrain_seed"] == 1))]
    (one,) = verdicts_of(
        expecting(data.but(checkpoints=lost), {"tokens to 75 on sst2": "fast < slow"})
    )
    assert one.claim.found is None
    assert one.reason == "not every arm of the pair has a value of tokens to 75 on sst2 yet"
    ends = data.but(checkpoints=data.checkpoints[data.checkpoints["arm"] == "fast"])
    found = reached_amounts(ends, ReachedLevel(75, "sst2"), ("fast", "slow"))
    assert found.values.keys() == {"fast"}  # a score at the end alone is no curve


def test_categories_of_probes_have_curves(data: MadeUpResults) -> None:
    rows = [
        ("fast", "blimp", category, seed, least + share / 4 + seed / 100, 0.5, 100, "", share)
        for category, least in (("wh_island", 0.5), ("overall", 0.6))
        for seed in range(3)
        for share in (0.75, 0.5, 1.0)  # of checkpoints in any order
    ]
    every = pd.DataFrame(rows, columns=[*PROBE_COLUMNS, "pretrain_fraction"])
    ends = every[every["pretrain_fraction"] == 1].drop(columns="pretrain_fraction")
    evaluate = {**data.experiment.evaluate.model_dump(), "probes": ["blimp"]}
    half = every[every["pretrain_fraction"] < 1]
    data = data.but(probes=ends, checkpoint_probes=half, evaluate=evaluate)
    found = reached_amounts(data, ReachedLevel(70, "blimp/wh_island"), ("fast",)).values["fast"]
    assert found == pytest.approx([8e5, 7.6e5, 7.2e5])  # 25 points in 1e6 tokens; 45 + 25 share
    overall = reached_amounts(data, ReachedLevel(80, "blimp"), ("fast",)).values["fast"]
    assert overall == pytest.approx([8e5, 7.6e5, 7.2e5])


def test_without_curves_there_are_no_values() -> None:
    empty = ReachedAmounts({}, np.nan, np.nan)
    assert empty.runs == 0


COUNTS = (100, 200, 400)


def by_amount(
    fabricate: Callable[..., MadeUpResults], field: str, curves: Mapping[str, Sequence[float]]
) -> MadeUpResults:
    """Arms `name/amount` for COUNTS, whose four seeds lie a point apart each."""
    names = [f"{name}/{count}" for name in curves for count in COUNTS]
    made = fabricate(dict.fromkeys(names, 0.9), ("sst2",), (4, 1), 1000)
    values = [
        (curves[row.arm.split("/")[0]][COUNTS.index(int(row.arm.split("/")[1]))]) / 100
        + row.pretrain_seed / 100
        for row in made.scores.itertuples()
    ]
    data = made.but(scores=made.scores.assign(value=values))
    grid = {
        "model": {name: {"pretrain.recipe": "bert"} for name in curves},
        "amount": {str(count): {field: count} for count in COUNTS},
    }
    declared = data.plan.declaration
    section, name = field.removeprefix("evaluate.").split(".")
    arms = []
    for arm in declared.arms:
        model, count = arm.name.split("/")
        part = getattr(arm.evaluate, section).model_copy(update={name: int(count)})
        evaluate = arm.evaluate.model_copy(update={section: part})
        arms.append(replace(arm, labels={"model": model, "amount": count}, evaluate=evaluate))
    experiment = declared.experiment.model_copy(update={"grid": grid})
    data.plan = replace(
        data.plan, declaration=replace(declared, experiment=experiment, arms=tuple(arms))
    )
    return data


@pytest.mark.parametrize(("amount", "field"), FIELDS.items())
def test_labels_and_epochs_to_a_level_are_those_of_each_line(
    fabricate: Callable[..., MadeUpResults], amount: str, field: str
) -> None:
    curves = {"fast": (60, 75, 90), "slow": (52, 60, 72), "never": (51, 52, 53)}
    data = by_amount(fabricate, field, curves)
    for score in ("sst2", "average"):
        level = ReachedLevel(70, score, amount)
        found = reached_amounts(data, level, ("fast/400", "slow/400"))
        # From 60 + s to 75 + s, and from 60 + s to 72 + s, of seeds s.
        expected = [100 + 100 * (10 - s) / 15 for s in range(4)]
        assert found.values["fast/400"] == pytest.approx(expected)
        slow = [200 + 200 * (10 - s) / 12 for s in range(4)]
        assert found.values["slow/400"] == pytest.approx(slow)
    expect = [{f"{amount} to 70 on sst2": text} for text in ("fast/400 < slow/400",)]
    expect += [{f"{amount} to 70 on average": "slow/400 < never/400"}]
    right, partly = verdicts_of(expecting(data, *expect))
    assert right.word == partly.word == "confirmed"
    assert right.claim.expectation.unit == amount
    assert f"4 do not reach the level with the most {amount} and count with these" in partly.reason


def test_a_line_with_a_gap_decides_nothing(fabricate: Callable[..., MadeUpResults]) -> None:
    data = by_amount(fabricate, FIELDS["labels"], {"a": (60, 75, 90), "b": (52, 60, 72)})
    level = ReachedLevel(70, "sst2", "labels")
    for lost in (["b/200"], ["b/200", 1]):
        gone = data.scores["arm"] == lost[0]
        if len(lost) > 1:
            gone &= data.scores["pretrain_seed"] == lost[1]
        part = data.but(scores=data.scores[~gone])
        part.plan = data.plan
        assert set(reached_amounts(part, level, ("a/400", "b/400")).values) == {"a/400"}
