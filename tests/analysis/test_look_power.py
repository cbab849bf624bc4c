"""What looks cost, against scipy's tests, the power of a single look, and by hand."""

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from harness.analysis.look_power import OF_SPENDING, TRIALS, _p_values, look_power, looks_line
from harness.analysis.statistics.sequential import SPENDING, nominal_levels
from harness.analysis.statistics.variance import Components, minimum_detectable_difference
from tests.analysis.test_power import planned
from tests.paths import ROOT

FREE = 3 * np.sqrt(0.8 * 0.2 / TRIALS)
"""Three standard errors of a simulated power."""


@pytest.mark.parametrize("paired", [False, True])
def test_p_values_are_those_of_scipy(paired: bool) -> None:
    first, second = np.random.default_rng(1).standard_normal((2, 6, 4))
    test = ttest_rel if paired else ttest_ind
    more = {} if paired else {"equal_var": False}
    expected = test(first, second, axis=1, **more).pvalue
    assert _p_values(first, second, paired) == pytest.approx(expected)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("end", [3, 10])
def test_one_look_has_the_power_of_a_test_at_the_end(end: int, paired: bool) -> None:
    unit = Components(1.0, float("nan"), 0.0)
    apart = minimum_detectable_difference(unit, end, 1, paired=paired)
    found = look_power((end,), (0.05,), apart, paired)
    assert found.significant == pytest.approx(0.8, abs=FREE) and found.mean_seeds == end


@pytest.mark.parametrize("spending", SPENDING)
@pytest.mark.parametrize("counts", [(3, 5, 10), (2, 3)])
def test_equal_arms_err_in_five_per_cent_at_most(spending: str, counts: tuple[int, ...]) -> None:
    found = look_power(counts, nominal_levels(counts, spending), 0.0, False)
    assert found.significant <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / TRIALS)
    undeclared = look_power(counts, (0.05,) * len(counts), 0.0, False)
    assert undeclared.significant > found.significant


def test_a_difference_that_each_look_shows_takes_the_seeds_of_the_first() -> None:
    found = look_power((3, 5, 10), (0.05, 0.05, 0.05), 100.0, False)
    assert (found.significant, found.mean_seeds) == (1.0, 3.0)
    assert look_power((3, 5, 10), (0.0, 0.05, 0.05), 100.0, False).mean_seeds == 5.0


def test_the_line_of_a_plan() -> None:
    line = looks_line(planned(seeds={"pretrain": 10, "looks": [3, 5]}))
    start = "looks at seeds 3 (p < 8.5e-05), 5 (p < 0.003), 10 (p < 0.049), as of O'Brien and"
    assert line.startswith(start)
    assert "80 % without looks is shown in 79 %, after 9.7 seeds" in line
    assert "equal arms take 10.0 and differ falsely in 4.9 %" in line
    pocock = planned(seeds={"pretrain": 10, "looks": [3, 5], "spending": "pocock"})
    assert "as of Pocock" in looks_line(pocock)


def test_arms_that_share_worlds_are_compared_seed_by_seed() -> None:
    looks = {"pretrain": 6, "looks": [3]}
    fixed, worlds = (
        looks_line(planned(seeds=looks | {"world": world})) for world in ("fixed", "per_seed")
    )
    checkpoints = looks_line(planned(seeds=looks, grid={"evaluate.finetune.epochs": [1, 2]}))
    assert worlds == checkpoints != fixed


def test_without_looks_there_is_no_line() -> None:
    assert looks_line(planned()) == ""


def test_every_function_has_a_name() -> None:
    assert OF_SPENDING.keys() == SPENDING.keys()


@pytest.mark.parametrize("spending", SPENDING)
def test_the_docs_say_what_looks_cost(spending: str) -> None:
    levels = nominal_levels((3, 5, 10), spending)
    unit = Components(1.0, float("nan"), 0.0)
    found = look_power((3, 5, 10), levels, minimum_detectable_difference(unit, 10, 1), False)
    docs = (ROOT / "docs" / "experiments.md").read_text()
    (row,) = (line for line in docs.splitlines() if line.startswith(f"| `{spending}` "))
    shown = [float(level) for level in row.split(" | ")[1].split(", ")]
    assert shown == [float(f"{level:.2g}") for level in levels]
    share, seeds = 100 * found.significant, found.mean_seeds
    assert f"is shown in {share:.0f} %, after {seeds:.1f} seeds on average" in row
