"""Expected differences: in losses, columns and probes."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from harness.analysis.frames.scores import PROBE_ITEM_COLUMNS
from harness.analysis.statistics.multiple_testing import holm
from harness.leaderboard.build import experiment_comparer
from harness.report.expectations import claims
from harness.report.page import write_report
from harness.report.summary import summary
from harness.report.verdict import judge
from tests.made_up_results import expecting, pairs_of, table_of


@pytest.fixture
def with_losses(fabricate):
    """Equal scores, and losses of which that of `low` is least."""
    data = fabricate({"low": 0.8, "high": 0.8, "alone": 0.8})
    losses = {"low": [2.0, 2.1, 2.2], "high": [3.0, 3.1, 3.3], "alone": [3.1]}
    rows = [
        (arm, seed, 60.0, loss, loss / 2)
        for arm, own in losses.items()
        for seed, loss in enumerate(own)
    ]
    columns = ["arm", "pretrain_seed", "seconds", "loss", "bits_per_byte"]
    return data.but(pretraining=pd.DataFrame(rows, columns=columns))


def verdicts_of(data):
    return [judge(one) for one in claims(data, experiment_comparer(data, table_of(data)))]


def test_expectations_about_losses_are_judged_by_welchs_interval(with_losses):
    expect = [("low", "high", "loss"), ("high", "low", "bits_per_byte")]
    right, wrong = verdicts_of(expecting(with_losses, *expect))
    assert (right.word, wrong.word) == ("confirmed", "refuted")
    assert "below zero" in right.reason and "above zero" in wrong.reason
    assert str(right.claim.expectation) == "low < high in held-out loss"
    by_arm = with_losses.pretraining.groupby("arm")["loss"]
    test = scipy.stats.ttest_ind(*map(by_arm.get_group, ("low", "high")), equal_var=False)
    interval = test.confidence_interval()
    assert (right.claim.found.low, right.claim.found.high) == pytest.approx(
        (interval.low, interval.high)
    )
    alone = [right.claim.found.p_value, wrong.claim.found.p_value]
    assert [right.claim.adjusted, wrong.claim.adjusted] == pytest.approx(holm(alone))


def test_holms_correction_is_over_averages_and_losses(with_losses):
    expect = [("low", "high", "loss"), ("high", "low", "average")]
    data = expecting(with_losses, *expect)
    loss, average = (one.claim for one in verdicts_of(data))
    alone = [loss.found.p_value, average.found.p_value]
    assert [loss.adjusted, average.adjusted] == pytest.approx(holm(alone))
    (pair, *_) = pairs_of(data, table_of(data))
    assert pair.expected and pair.claim == average.adjusted


def test_losses_of_one_seed_or_another_vocabulary_decide_nothing(with_losses):
    (one,) = verdicts_of(expecting(with_losses, ("low", "alone", "loss")))
    assert one.word == "inconclusive" and "one pretraining seed" in one.reason
    sizes = {"pretrain.tokenizer.vocab_size": {"low": 100, "high": 200, "alone": 100}}
    other = with_losses.but(differences={**with_losses.plan.differences, **sizes})
    expect = [("low", "high", "loss"), ("low", "high", "bits_per_byte")]
    nats, bits = verdicts_of(expecting(other, *expect))
    assert nats.reason == "not every arm of the pair has a comparable held-out loss"
    assert bits.word == "confirmed"  # bytes do not depend on the vocabulary
    unknown = other.but(pretraining=other.pretraining.assign(bits_per_byte=np.nan))
    assert verdicts_of(expecting(unknown, *expect))[1].claim.found is None


def test_reports_name_the_loss_with_its_unit(with_losses, tmp_path):
    data = expecting(with_losses, ("low", "high", "loss"), ("low", "high", "bits_per_byte"))
    write_report(data, tmp_path)
    nats, bits = re.findall(r"- low .*", (tmp_path / "README.md").read_text())[:2]
    assert "in held-out loss: **confirmed**, −1.033 nats per predicted token (95 % inter" in nats
    assert "in held-out bits per byte: **confirmed**, −0.517 bits per byte (95 % inter" in bits
    assert (
        "low &lt; high in held-out loss: <b>confirmed</b>" in (tmp_path / "index.html").read_text()
    )
    assert summary(data).verdicts[0].startswith("low < high in held-out loss: confirmed, −1.033")


def test_columns_are_judged_by_their_own_interval(fabricate):
    data = fabricate({"a": 0.6, "b": 0.9})
    expect = [("b", "a", "average"), ("b", "a", "sst2"), ("a", "b", "stsb")]
    average, column, wrong = verdicts_of(expecting(data, *expect))
    assert (average.word, column.word, wrong.word) == ("confirmed", "confirmed", "refuted")
    assert str(column.claim.expectation) == "b > a on sst2"
    assert column.claim.found == pairs_of(data, table_of(data))[0].differences["sst2"]
    alone = [one.claim.found.p_value for one in (average, column, wrong)]
    adjusted = [one.claim.adjusted for one in (average, column, wrong)]
    assert adjusted == pytest.approx(holm(alone))


@pytest.fixture
def with_probes(fabricate):
    """Equal scores on tasks; on a probe, `high` is better in one of two categories."""
    data, rng = fabricate({"low": 0.8, "high": 0.8, "alone": 0.8}), np.random.default_rng(0)
    skills = {("high", "wh_island"): 0.97, ("low", "wh_island"): 0.65}
    rows = [
        (
            arm,
            "blimp",
            category,
            index,
            seed,
            float(rng.random() < skills.get((arm, category), 0.7)),
        )
        for arm, num_seeds in {"low": 3, "high": 3, "alone": 1}.items()
        for seed in range(num_seeds)
        for category in ("wh_island", "npi_present_1")
        for index in range(100)
    ]
    evaluate = {**data.experiment.evaluate.model_dump(), "probes": ["blimp"]}
    return data.but(probe_items=pd.DataFrame(rows, columns=PROBE_ITEM_COLUMNS), evaluate=evaluate)


def test_probes_are_judged_over_seeds_and_items(with_probes, tmp_path):
    expect = [
        ("high", "low", "blimp"),
        ("high", "low", "blimp/wh_island"),
        ("low", "high", "blimp/wh_island"),
        ("high", "low", "blimp/npi_present_1"),
        ("high", "alone", "blimp"),
        ("high", "low", "blimp/npi_present_2"),
    ]
    data = expecting(with_probes, *expect)
    whole, part, wrong, equal, single, absent = verdicts_of(data)
    words = [one.word for one in (whole, part, wrong, equal)]
    assert words == ["confirmed", "confirmed", "refuted", "inconclusive"]
    means = data.probe_items.groupby(["category", "arm"])["value"].mean()["wh_island"]
    assert part.claim.found.estimate == pytest.approx(100 * (means["high"] - means["low"]))
    assert "one pretraining seed" in single.reason
    assert absent.reason == "not every arm of the pair has a score on blimp/npi_present_2 yet"
    write_report(data, tmp_path)
    shown = (tmp_path / "README.md").read_text()
    assert "- high > low on blimp/wh_island: **confirmed**, +" in shown
    assert "points (95 % interval" in shown
    assert summary(data).verdicts[0].startswith("high > low on blimp: confirmed, +")


@pytest.fixture
def planted(fabricate):
    """Two arms of equal skill, and four whose skill falls in steps."""
    skills = {"a": 0.95, "b": 0.85, "c": 0.75, "d": 0.65, "same": 0.85, "also": 0.85}
    return fabricate(skills, tasks=("sst2",), seeds=(5, 1), examples=1000)


FORMS = {
    "a > b > c > d": "confirmed",
    "d > b > same": "refuted",
    "also > b > same": "inconclusive",
    "a - d > b - c": "confirmed",
    "b - c > a - d": "refuted",
    "a - b > c - d": "inconclusive",
    "b = same within 10": "confirmed",
    "a = d within 10": "refuted",
    "b = same within 0.001": "inconclusive",
    "b >= same within 10": "confirmed",
    "a >= d within 1": "confirmed",
    "d >= a within 10": "refuted",
    "same >= b within 0.001": "inconclusive",
    "a above 80": "confirmed",
    "a below 80": "refuted",
    "d above 80": "refuted",
    "d below 80": "confirmed",
    "b above 85": "inconclusive",
}


@pytest.mark.parametrize("text", FORMS)
@pytest.mark.parametrize("outcome", ["average", "sst2"])
def test_planted_effects_and_equal_arms_are_judged_right(planted, text, outcome):
    (one,) = verdicts_of(expecting(planted, {outcome: text}))
    assert one.word == FORMS[text], one.reason
    assert str(one.claim.expectation).startswith(text)


def test_a_trend_with_a_reversed_step_is_not_confirmed(planted):
    """d is far below c, but the trend of the ends holds."""
    whole, end = verdicts_of(expecting(planted, "a > d > c", "a > b > c"))
    assert (whole.word, end.word) == ("inconclusive", "confirmed")
    reversed_step = "the interval of the linear trend lies above zero, but c > d significantly"
    assert whole.reason.startswith(reversed_step)


def test_arms_with_the_same_runs_are_not_equal_by_evidence(planted):
    twin = planted.scores[planted.scores["arm"] == "b"].assign(arm="same")
    rest = planted.scores[planted.scores["arm"] != "same"]
    data = planted.but(scores=pd.concat([rest, twin]))
    (one,) = verdicts_of(expecting(data, "b = same within 1"))
    assert one.word == "void" and one.reason == "arms have the same score in every run"


def test_losses_of_the_same_runs_count_once(with_losses):
    """Two adaptations of each model have its losses: a trend over four arms is one of two."""
    runs = with_losses.pretraining
    again = pd.concat([runs, runs.assign(arm=runs["arm"] + "/lora")])
    names = ["low", "high", "alone", "low/lora", "high/lora", "alone/lora"]
    data = with_losses.but(pretraining=again, arms=names)
    both, single = (
        verdicts_of(expecting(data, {"loss": text}))[0].claim.found
        for text in ("low < low/lora < high < high/lora", "low < high")
    )
    assert both.p_value == pytest.approx(single.p_value)
    texts = ("low = low/lora within 1", "low <= low/lora within 1", "low < low/lora")
    found = verdicts_of(expecting(data, *({"loss": text} for text in texts)))
    assert [one.word for one in found] == ["confirmed", "confirmed", "refuted"]
    assert {one.reason for one in found} == {"the same in every run, so without an interval"}


def test_reasons_of_equality_name_the_margin(planted, tmp_path):
    data = expecting(planted, "b = same within 10", "a = d within 10", "b = same within 0.001")
    reasons = [one.reason.partition(";")[0] for one in verdicts_of(data)]
    assert reasons == [
        "two one-sided tests exclude differences of 10 points and more",
        "a one-sided test excludes differences of 10 points and less",
        "differences within and beyond 0.001 points are both possible",
    ]
    write_report(data, tmp_path)
    assert "- b = same within 10: **confirmed**, " in (tmp_path / "README.md").read_text()


def test_reasons_of_non_inferiority_name_the_margin(planted, tmp_path):
    texts = ("b >= same within 10", "d >= a within 1", "c >= b within 10")
    data = expecting(planted, *texts)
    found = verdicts_of(data)
    assert [one.reason.partition(";")[0] for one in found] == [
        "the interval lies above −10 points",
        "the interval lies below −1 point",
        "the interval includes −10 points",
    ]
    assert found[2].reason.endswith("seeds per arm would show a distance of this size")
    write_report(data, tmp_path)
    assert "- b >= same within 10: **confirmed**, " in (tmp_path / "README.md").read_text()
    (plain,) = verdicts_of(expecting(planted, "b > same"))
    one, other = found[0].claim.found, plain.claim.found
    assert (one.estimate, one.low, one.high) == (other.estimate, other.low, other.high)


def test_a_loss_is_not_worse_where_it_is_not_higher_by_the_margin(with_losses):
    texts = ("low <= high within 0.5", "high <= low within 0.5")
    found = verdicts_of(expecting(with_losses, *({"loss": text} for text in texts)))
    assert [one.word for one in found] == ["confirmed", "refuted"]
    assert found[1].reason.startswith("the interval lies above +0.5 nats per predicted token")


def test_p_of_a_loss_that_is_not_worse_is_that_of_its_margin(with_losses):
    data = expecting(with_losses, {"loss": "low <= high within 0.5"})
    losses = with_losses.pretraining.groupby("arm")["loss"]
    low, high = map(losses.get_group, ("low", "high"))
    test = scipy.stats.ttest_ind(low - 0.5, high, equal_var=False)
    assert verdicts_of(data)[0].claim.found.p_value == pytest.approx(test.pvalue)


def test_probes_of_networks_of_the_same_worlds_are_compared_world_by_world(with_probes):
    """Worlds make the networks of all arms better or worse alike."""
    shares = {"low": (30, 60, 90), "high": (35, 64, 96)}
    rows = [
        (arm, "blimp", category, index, seed, float(index < 5 * share))
        for arm, own in shares.items()
        for seed, share in enumerate(own)
        for category in ("wh_island", "npi_present_1")
        for index in range(500)
    ]
    data = with_probes.but(probe_items=pd.DataFrame(rows, columns=PROBE_ITEM_COLUMNS))
    seeds = {**data.experiment.seeds.model_dump(), "world": "per_seed"}
    apart, paired = (
        verdicts_of(expecting(one, ("high", "low", "blimp")))[0].claim.found
        for one in (data, data.but(seeds=seeds))
    )
    assert apart.estimate == paired.estimate == pytest.approx(5)
    assert apart.p_value > 0.5 > 0.1 > paired.p_value
    assert paired.p_value >= scipy.stats.ttest_rel(shares["high"], shares["low"]).pvalue
    wide = data.but(seeds=seeds)
    wide.coverage = 0.99
    found = verdicts_of(expecting(wide, ("high", "low", "blimp")))[0].claim.found
    assert found.low < paired.low and found.high > paired.high


def test_arms_with_the_same_checkpoints_are_compared_seed_by_seed(fabricate):
    """Two recipes, each adapted in two ways: the differences of the ways are compared."""
    names = ("full/x", "lora/x", "full/y", "lora/y")
    differences = {
        "pretrain.recipe": {name: name[-1] for name in names},
        "evaluate.adaptation": {name: name[:4] for name in names},
    }
    skills = dict(zip(names, (0.9, 0.8, 0.8, 0.6), strict=True))
    data = fabricate(skills, tasks=("sst2",), seeds=(4, 1), differences=differences)
    (one,) = verdicts_of(expecting(data, "full/y - lora/y > full/x - lora/x"))
    scores = data.scores.pivot_table("value", "pretrain_seed", "arm", sort=False) * 100
    gains = [scores[f"full/{way}"] - scores[f"lora/{way}"] for way in "yx"]
    assert one.claim.found.estimate == pytest.approx(gains[0].mean() - gains[1].mean())
    test = scipy.stats.ttest_ind(*gains, equal_var=False)
    # Wider than scipy's by the examples, which are resampled, too.
    assert one.claim.found.low < test.confidence_interval().low


def test_losses_have_trends_and_margins(with_losses):
    data = expecting(with_losses, {"loss": "low = high within 0.5"}, {"loss": "low < alone < high"})
    equal, trend = verdicts_of(data)
    assert equal.word == "refuted" and "0.5 nats per predicted token and less" in equal.reason
    assert trend.word == "inconclusive" and "one pretraining seed" in trend.reason
    absent = with_losses.but(pretraining=with_losses.pretraining.iloc[:3])
    (one,) = verdicts_of(expecting(absent, {"loss": "low < alone < high"}))
    assert one.reason == "not every arm of the expectation has a comparable held-out loss"


def test_the_gap_between_two_columns_is_compared(fabricate):
    """Estimates are linear in scores; both columns of a run belong together."""
    data = fabricate({"a": 0.6, "b": 0.9})
    (one,) = verdicts_of(expecting(data, ("b", "a", "sst2 - mrpc")))
    compared = experiment_comparer(data, table_of(data))
    single = [compared.outcomes[name].contrast({"b": 1, "a": -1}) for name in ("sst2", "mrpc")]
    found = one.claim.found
    assert found.estimate == pytest.approx(single[0].estimate - single[1].estimate)
    seeds = {
        arm: compared.outcomes["sst2"].observed(arm) - compared.outcomes["mrpc"].observed(arm)
        for arm in ("a", "b")
    }
    interval = scipy.stats.ttest_ind(seeds["b"], seeds["a"], equal_var=False).confidence_interval()
    assert found.low <= interval.low and found.high >= interval.high  # examples vary, too
    assert str(one.claim.expectation) == "b > a on sst2 - mrpc" and one.claim.unit == "points"


def test_a_gap_is_void_if_its_first_column_is_at_chance(fabricate):
    data = fabricate({"a": 0.5, "b": 0.5, "good": 0.9})
    expect = [("a", "b", "sst2 - mrpc"), ("good", "a", "sst2 - mrpc")]
    found = verdicts_of(expecting(data, *expect))
    assert [one.word for one in found] == ["void", "void"]
    assert all("a is not shown to be above chance" in one.reason for one in found)


def test_a_gap_is_judged_where_its_first_column_is_at_the_ceiling(fabricate):
    """An arm that is right on all examples has learned the column; its gap may still differ."""
    data = fabricate({"a": 1.0, "b": 1.0})
    (one,) = verdicts_of(expecting(data, ("a", "b", "sst2 - mrpc")))
    assert one.word == "void" and one.reason == "arms have the same score in every run"
    worse = fabricate({"a": 0.95, "b": 1.0})
    (one,) = verdicts_of(expecting(worse, ("a", "b", "sst2 - mrpc")))
    assert one.word == "inconclusive"


def test_a_level_is_compared_with_the_scores_of_an_arm(planted, tmp_path):
    data = expecting(planted, ("b", "a", "sst2"), {"sst2": "a above 80"})
    level = verdicts_of(data)[1]
    scores = 100 * planted.scores.query("arm == 'a' and task == 'sst2'")["value"]
    assert level.claim.found.estimate == pytest.approx(scores.mean() - 80)
    test = scipy.stats.ttest_1samp(scores, 80).confidence_interval()
    assert level.claim.found.low <= test.low  # examples vary, too
    assert level.reason.startswith("the interval lies above the level")
    write_report(data, tmp_path)
    assert "- a above 80 on sst2: **confirmed**, +" in (tmp_path / "README.md").read_text()


def test_levels_of_losses_are_judged_by_students_interval(with_losses):
    expect = [{"loss": "high above 2.5"}, {"loss": "low above 2.5"}, {"loss": "alone below 9"}]
    right, wrong, single = verdicts_of(expecting(with_losses, *expect))
    assert (right.word, wrong.word, single.word) == ("confirmed", "refuted", "inconclusive")
    losses = with_losses.pretraining.query("arm == 'high'")["loss"]
    test = scipy.stats.ttest_1samp(losses, 2.5)
    assert right.claim.found.p_value >= test.pvalue  # the spread of all arms counts, too


def test_the_gap_between_two_categories_of_a_probe_is_compared(with_probes):
    gap = "blimp/wh_island - blimp/npi_present_1"
    expect = [("high", "low", gap), {gap: "high above 0"}, {gap: "low below 10"}]
    between, level, low = verdicts_of(expecting(with_probes, *expect))
    means = 100 * with_probes.probe_items.groupby(["arm", "category"])["value"].mean().unstack()
    gaps = means["wh_island"] - means["npi_present_1"]
    assert between.claim.found.estimate == pytest.approx(gaps["high"] - gaps["low"])
    assert level.claim.found.estimate == pytest.approx(gaps["high"])
    assert (level.word, low.word) == ("confirmed", "confirmed")


def test_with_a_world_for_each_seed_arms_are_compared_world_by_world(fabricate):
    """Worlds make runs of all arms better or worse alike; each has examples of its own."""
    data = fabricate({"a": 0.9, "b": 0.8}, tasks=("sst2",), seeds=(4, 1))
    world = dict(zip(range(4), (0.0, -0.3, 0.1, -0.2), strict=True))
    scores = data.scores.assign(
        value=data.scores["value"] + data.scores["pretrain_seed"].map(world)
    )
    known = {row.key: row.pretrain_seed for row in scores.itertuples()}

    def counts(key):
        found = dict(data.counts(key))
        labels = found["validation/labels"]
        return found | {"validation/labels": np.roll(labels, known[key])}

    seeds = {"pretrain": 4, "finetune": 1, "world": "per_seed"}
    varied = expecting(data.but(counts=counts, seeds=seeds), ("a", "b", "sst2"))
    (one,) = verdicts_of(varied)
    by_arm = data.scores.pivot_table("value", "pretrain_seed", "arm") * 100
    test = scipy.stats.ttest_rel(by_arm["a"], by_arm["b"])
    assert one.claim.found.estimate == pytest.approx((by_arm["a"] - by_arm["b"]).mean())
    assert one.claim.found.p_value >= test.pvalue  # examples vary, too
    assert one.claim.found.num_seeds == 4
    with pytest.raises(ValueError, match="runs must be scored on the same examples"):
        verdicts_of(expecting(data.but(counts=counts), ("a", "b", "sst2")))


def test_two_comparisons_must_both_hold(planted, tmp_path):
    """a > b > c > d in steps of 10 points; `same` and `also` are as good as b."""
    texts = {
        "a > b and c > d": "confirmed",
        "a > b and d > c": "refuted",
        "b > a and d > c": "refuted",
        "a > b and b > same": "inconclusive",
        "b > also and b > same": "inconclusive",
        "b > a and b > same": "refuted",
    }
    found = verdicts_of(expecting(planted, *texts))
    assert [one.word for one in found] == list(texts.values())
    single = {
        text: verdicts_of(expecting(planted, text))[0].claim.found for text in ("a > b", "c > d")
    }
    assert found[0].claim.found == max(single.values(), key=lambda one: one.p_value)
    assert found[1].reason.startswith("the interval of d > c lies below zero")
    assert found[0].reason.startswith("both intervals lie above zero; ")
    assert found[3].reason.startswith("the interval of b > same includes zero")
    assert found[0].claim.adjusted is not None
    alone = [one.claim.found.p_value for one in found]
    assert [one.claim.adjusted for one in found] == pytest.approx(holm(alone))
    write_report(expecting(planted, "a > b and d > c"), tmp_path)
    shown = (tmp_path / "README.md").read_text()
    assert "- a > b and d > c: **refuted**, −" in shown and "points for d > c (95 %" in shown
    (row,) = pd.read_csv(tmp_path / "verdicts.csv").to_dict("records")
    assert (row["expectation"], row["verdict"]) == ("a > b and d > c", "refuted")


def test_two_comparisons_of_losses_need_seeds_of_all_arms(with_losses):
    expect = {"loss": "low < high and low < alone"}
    (single,) = verdicts_of(expecting(with_losses, expect))
    assert single.word == "inconclusive" and "one pretraining seed" in single.reason
    lost = with_losses.but(pretraining=with_losses.pretraining.query("arm != 'alone'"))
    (absent,) = verdicts_of(expecting(lost, expect))
    assert absent.reason == "not every arm of the expectation has a comparable held-out loss"


def test_two_comparisons_are_void_if_one_of_them_is(fabricate):
    data = fabricate({"good": 0.9, "fair": 0.7, "lost": 0.5}, tasks=("qnli",), seeds=(4, 1))
    texts = ("good > fair and good > lost", "good > fair and fair > lost")
    found = verdicts_of(expecting(data, *texts))
    assert [one.word for one in found] == ["void", "void"]
    assert found[0].reason.startswith("lost is not shown to be above chance (")


def test_ranks_by_two_outcomes_agree(planted, tmp_path):
    """Losses that fall as scores rise, that rise with them, and that are the same for two arms."""
    losses = {"alike": (1, 2, 3, 4), "reverse": (4, 3, 2, 1), "noise": (2.5, 2.5, 2.5, 2.5)}
    rng, words = np.random.default_rng(0), {}
    for name, means in losses.items():
        rows = [
            (arm, seed, 60.0, mean + 0.05 * rng.standard_normal(), 1.0)
            for arm, mean in zip("abcd", means, strict=True)
            for seed in range(5)
        ]
        columns = ["arm", "pretrain_seed", "seconds", "loss", "bits_per_byte"]
        data = planted.but(pretraining=pd.DataFrame(rows, columns=columns))
        about = "rank agreement of sst2 and loss"
        data = expecting(data, {about: "a, b, c, d above 0.5"}, {about: "d, b, a, c below 0.5"})
        above, below = verdicts_of(data)
        words[name] = (above.word, below.word)
        means = {
            arm: scores.mean()
            for arm, scores in planted.scores.query("task == 'sst2'").groupby("arm")["value"]
        }
        of_losses = data.pretraining.groupby("arm")["loss"].mean()
        tau = scipy.stats.kendalltau([means[arm] for arm in "abcd"], -of_losses[list("abcd")])[0]
        assert above.claim.found.estimate == pytest.approx(tau - 0.5)
        assert below.claim.found.estimate == pytest.approx(tau - 0.5)
    assert words == {
        "alike": ("confirmed", "refuted"),
        "reverse": ("refuted", "confirmed"),
        "noise": ("inconclusive", "inconclusive"),
    }
    assert "pairs of arms may be equal in an outcome" in above.reason
    write_report(data, tmp_path)
    shown = (tmp_path / "README.md").read_text()
    assert "- a, b, c, d above 0.5 in rank agreement of sst2 and loss: **inconclusive**, " in shown
    assert "of Kendall's tau from 0.5 (95 % interval −" in shown
    assert summary(data).verdicts[0].startswith("a, b, c, d above 0.5 in rank agreement of sst2")


def test_ranks_by_what_an_arm_lacks_are_inconclusive(planted, with_losses):
    about = {"rank agreement of average and loss": "a, b, c, d above 0"}
    (absent,) = verdicts_of(expecting(planted.but(pretraining=with_losses.pretraining), about))
    assert absent.word == "inconclusive"
    every = "not every arm of the expectation has comparable values of both outcomes yet"
    assert absent.reason == every


def test_ranks_by_what_is_counted_agree_where_scores_do(planted):
    costs = planted.costs
    sizes = costs["arm"].map({"a": 1e6, "b": 2e6, "c": 3e6, "d": 4e6}).fillna(5e6)
    about = {"rank agreement of sst2 and parameters": "a, b, c, d above 0.5"}
    (one,) = verdicts_of(expecting(planted.but(costs=costs.assign(parameters=sizes)), about))
    assert one.word == "confirmed" and one.claim.found.num_seeds == 5


def test_two_comparisons_of_what_is_counted_are_exact(planted):
    costs = planted.costs
    sizes = costs["arm"].map({"a": 1e6, "b": 2e6, "c": 3e6, "d": 4e6}).fillna(5e6)
    data = planted.but(costs=costs.assign(parameters=sizes))
    expect = [{"parameters": text} for text in ("a < b and c < d", "a < b and d < c")]
    right, wrong = verdicts_of(expecting(data, *expect))
    assert (right.word, wrong.word) == ("confirmed", "refuted")
    assert right.reason == "the same in every run, so without an interval"
