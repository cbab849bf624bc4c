"""Expected differences: in losses, columns and probes."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from harness.analysis.comparison.differences import AVERAGE
from harness.analysis.frames.scores import PROBE_ITEM_COLUMNS
from harness.analysis.statistics.multiple_testing import holm
from harness.experiment.experiment import Comparison
from harness.report.expectations import expectations
from harness.report.page import write_report
from harness.report.summary import summary
from harness.report.verdict import judge
from tests.made_up_results import pairs_of, table_of


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
    return [judge(pair) for pair in expectations(data, pairs_of(data, table_of(data)))]


def expecting(data, *expect):
    """The results with expectations (first, second, outcome)."""
    declared = [Comparison(better=a, worse=b, outcome=outcome) for a, b, outcome in expect]
    experiment = data.experiment.model_copy(update={"expect": tuple(declared)})
    changed = replace(data.plan.declaration, experiment=experiment)
    data.plan = replace(data.plan, declaration=changed)
    return data


def test_expectations_about_losses_are_judged_by_welchs_interval(with_losses):
    expect = [("low", "high", "loss"), ("high", "low", "bits_per_byte")]
    right, wrong = verdicts_of(expecting(with_losses, *expect))
    assert (right.word, wrong.word) == ("confirmed", "refuted")
    assert "below zero" in right.reason and "above zero" in wrong.reason
    assert right.pair.claimed == "low < high in held-out loss"
    by_arm = with_losses.pretraining.groupby("arm")["loss"]
    test = scipy.stats.ttest_ind(*map(by_arm.get_group, ("low", "high")), equal_var=False)
    interval = test.confidence_interval()
    assert (right.pair.judged.low, right.pair.judged.high) == pytest.approx(
        (interval.low, interval.high)
    )
    alone = [right.pair.judged.p_value, wrong.pair.judged.p_value]
    assert [right.pair.claim, wrong.pair.claim] == pytest.approx(holm(alone))


def test_holms_correction_is_over_averages_and_losses(with_losses):
    expect = [("low", "high", "loss"), ("high", "low", "average")]
    loss, average = (one.pair for one in verdicts_of(expecting(with_losses, *expect)))
    alone = [loss.judged.p_value, average.judged.p_value]
    assert [loss.claim, average.claim] == pytest.approx(holm(alone))
    assert average.differences.keys() > {AVERAGE} and loss.differences.keys() == {"loss"}


def test_losses_of_one_seed_or_another_vocabulary_decide_nothing(with_losses):
    (one,) = verdicts_of(expecting(with_losses, ("low", "alone", "loss")))
    assert one.word == "inconclusive" and "one pretraining seed" in one.reason
    sizes = {"pretrain.tokenizer.vocab_size": {"low": 100, "high": 200, "alone": 100}}
    other = with_losses.but(differences={**with_losses.plan.differences, **sizes})
    expect = [("low", "high", "loss"), ("low", "high", "bits_per_byte")]
    nats, bits = verdicts_of(expecting(other, *expect))
    assert nats.reason == "not every arm of the pair has comparable held-out loss"
    assert bits.word == "confirmed"  # bytes do not depend on the vocabulary
    unknown = other.but(pretraining=other.pretraining.assign(bits_per_byte=np.nan))
    assert verdicts_of(expecting(unknown, *expect))[1].pair.judged is None


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
    assert column.pair.claimed == "b > a on sst2"
    assert column.pair.judged == average.pair.differences["sst2"]
    alone = [one.pair.judged.p_value for one in (average, column, wrong)]
    adjusted = [one.pair.claim for one in (average, column, wrong)]
    assert adjusted == pytest.approx(holm(alone))


def test_a_pair_expected_in_a_column_is_compared_among_many_arms(fabricate, monkeypatch):
    data = fabricate({"a": 0.7, "b": 0.7, "c": 0.75, "d": 0.8}, tasks=("sst2",))
    monkeypatch.setattr("harness.report.pairwise.MANY_ARMS", 3)
    (one,) = verdicts_of(expecting(data, ("b", "a", "sst2")))
    assert one.pair.judged is not None and (one.pair.first, one.pair.second) == ("b", "a")


@pytest.fixture
def with_probes(fabricate):
    """Equal scores on tasks; on a probe, `high` is better in one of two categories."""
    data, rng = fabricate({"low": 0.8, "high": 0.8, "alone": 0.8}), np.random.default_rng(0)
    skills = {("high", "wh_island"): 0.95, ("low", "wh_island"): 0.55}
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
    assert part.pair.judged.estimate == pytest.approx(100 * (means["high"] - means["low"]))
    assert "one pretraining seed" in single.reason
    assert absent.reason == "not every arm of the pair has a score on blimp/npi_present_2 yet"
    write_report(data, tmp_path)
    shown = (tmp_path / "README.md").read_text()
    assert "- high > low on blimp/wh_island: **confirmed**, +" in shown
    assert "points (95 % interval" in shown
    assert summary(data).verdicts[0].startswith("high > low on blimp: confirmed, +")
