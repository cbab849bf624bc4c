"""Differences in held-out loss against scipy's test, in the report and beside it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control, ttest_ind

from harness.pretraining.recipes import RECIPES
from harness.report.page import write_report
from harness.report.sections.curves import GROUPS_CAPTION, SUM_NOTE, loss_section
from harness.report.sections.loss_differences import (
    BITS_DIFFERENCES,
    DIFFERENCES,
    differences_note,
    loss_differences,
    loss_differences_table,
)
from tests.made_up_results import MadeUpResults, with_recipes

LOSSES = {"a": [2.0, 2.1, 2.3], "b": [2.5, 2.4, 2.9], "c": [2.2, 2.0, 2.1]}


@pytest.fixture
def data(fabricate: Callable[..., MadeUpResults]) -> MadeUpResults:
    made = fabricate(dict.fromkeys(LOSSES, 0.8), examples=60)
    runs = [(arm, seed, loss) for arm, of in LOSSES.items() for seed, loss in enumerate(of)]
    rows = [(arm, seed, 60.0, loss, np.nan) for arm, seed, loss in runs]
    columns = ["arm", "pretrain_seed", "seconds", "loss", "bits_per_byte"]
    return made.but(pretraining=pd.DataFrame(rows, columns=columns))


def test_intervals_are_welchs(data: MadeUpResults) -> None:
    found = loss_differences(data)
    assert [*zip(found["first"], found["second"], strict=True)] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    tests = []
    for row in found.itertuples():
        sides = LOSSES[str(row.first)], LOSSES[str(row.second)]
        tests.append(ttest_ind(*sides, equal_var=False))
        interval = tests[-1].confidence_interval()
        assert row.difference == pytest.approx(np.mean(sides[0]) - np.mean(sides[1]))
        assert (row.low, row.high) == pytest.approx((interval.low, interval.high))
    p_values = [test.pvalue for test in tests]
    assert found["p_value"].tolist() == pytest.approx(p_values, rel=1e-5)
    adjusted = false_discovery_control(p_values)
    assert found["p_benjamini_hochberg"].tolist() == pytest.approx(adjusted, rel=1e-5)


def test_one_seed_has_a_difference_without_interval(data: MadeUpResults) -> None:
    losses = data.pretraining
    one = losses[(losses["arm"] != "a") | (losses["pretrain_seed"] == 0)]
    first = loss_differences(data.but(pretraining=one)).iloc[0]
    assert first["difference"] == pytest.approx(2.0 - np.mean(LOSSES["b"]))
    assert first[["low", "high", "p_value", "p_benjamini_hochberg"]].isna().all()
    row = loss_differences_table(data.but(pretraining=one)).rows[0]
    assert row == ["a − b", "−0.600", "–", "–", "–"]


def test_only_comparable_losses_have_differences(data: MadeUpResults) -> None:
    sizes = {"pretrain.tokenizer.vocab_size": {"a": 100, "b": 100, "c": 200}}
    made = data.but(differences={**data.plan.differences, **sizes})
    assert loss_differences(made)[["first", "second"]].to_numpy().tolist() == [["a", "b"]]
    shared = {"evaluate.adaptation": {"a": "full", "b": "lora", "c": "frozen"}}
    assert loss_differences(data.but(differences=shared)).empty
    assert loss_differences(data.but(pretraining=data.pretraining.iloc[:0])).empty


def test_bits_per_byte_are_compared_across_vocabularies(data: MadeUpResults) -> None:
    sizes = {"pretrain.tokenizer.vocab_size": {"a": 100, "b": 100, "c": 200}}
    losses = data.pretraining.assign(bits_per_byte=data.pretraining["loss"] / 2)
    made = data.but(pretraining=losses, differences={**data.plan.differences, **sizes})
    found = loss_differences(made, "bits_per_byte")
    assert found[["first", "second"]].to_numpy().tolist() == [["a", "c"], ["b", "c"]]
    assert found["difference"].iloc[0] == pytest.approx(np.mean(LOSSES["a"]) / 2 - 1.05)
    section = loss_section(made)
    assert section and list(section.tables) == ["", DIFFERENCES, BITS_DIFFERENCES]
    assert loss_differences(data, "bits_per_byte").empty


@pytest.mark.parametrize(("sizes", "rows"), [((1, 1, 1), 1), ((1, 1, 2), 2), ((1, 2, 3), 1)])
def test_curves_are_said_to_have_panels_by_comparable_losses(
    sizes: tuple[int, ...], rows: int, data: MadeUpResults
) -> None:
    curves = data.pretraining.assign(step=1, tokens=1_000)
    own = {"pretrain.tokenizer.vocab_size": dict(zip("abc", sizes, strict=True))}
    made = data.but(curves=curves, differences={**data.plan.differences, **own})
    section = loss_section(made)
    assert section
    plot = section.plots["loss"]
    assert str(plot.svg).count("training loss (nats)") == rows
    assert (GROUPS_CAPTION in plot.caption) == (rows > 1)


def test_with_a_world_for_each_seed_models_share_no_text(data: MadeUpResults) -> None:
    shared = "which all models share"
    assert shared in differences_note(data)
    data = data.but(seeds={**data.experiment.seeds.model_dump(), "world": "per_seed"})
    assert shared not in differences_note(data)


def test_training_losses_that_are_sums_are_said_to_be(data: MadeUpResults) -> None:
    plain, summed = RECIPES["roberta"], RECIPES["elmo"]
    parts = [one.objective.components[-1][1] for one in (plain, summed)]
    assert [part.has_several_losses for part in parts] == [False, True]
    section = loss_section(with_recipes(data, a=plain, b=plain, c=plain))
    assert section and SUM_NOTE not in section.notes
    section = loss_section(with_recipes(data, a=plain, b=summed, c=plain))
    assert section and SUM_NOTE in section.notes


def test_the_report_and_its_downloads_have_them(data: MadeUpResults, tmp_path: Path) -> None:
    write_report(data, tmp_path / "few")
    readme = (tmp_path / "few" / "README.md").read_text()
    assert "Differences in held-out loss:\n\n| arms |" in readme and "| a − b | −0.467 |" in readme
    assert len(pd.read_csv(tmp_path / "few" / "loss_differences.csv")) == 3
    page = (tmp_path / "few" / "index.html").read_text()
    assert "<h3>Differences in held-out loss</h3>" in page and "loss_differences.csv" in page
    write_report(data.but(pretraining=data.pretraining.iloc[:0]), tmp_path / "none")
    assert not (tmp_path / "none" / "loss_differences.csv").exists()
