"""The simulation applies the procedure of the package, and docs/statistics.md its figures."""

import json
import re

import numpy as np
import pytest

from benchmarks.seed_distributions import FAMILIES, RESULTS
from benchmarks.simulated_decisions import PAIRS, decide, decide_paired
from harness.analysis.comparison.differences import LEVEL
from harness.analysis.comparison.seed_scores import compared_by_seeds, paired_spread
from harness.analysis.statistics.welch import welch
from tests.paths import ROOT

DOCS = ROOT / "docs" / "statistics.md"


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("name", ["normal", "normal, sd 6 and 0", "30 % fail by 10 sd"])
def test_the_simulation_decides_as_the_package_does(name, seeds):
    (family,) = (one for one in FAMILIES if one.name == name)
    rng = np.random.default_rng(seeds)
    tables = family.draw(rng, (6, 8, seeds))
    tables[:, 6:] = family.other(rng, (6, 2, seeds))
    found = decide(tables, PAIRS)
    for table, p_values, groups in zip(tables, found.shipped, found.groups, strict=True):
        compared = compared_by_seeds(dict(zip("abcdefgh", table, strict=True)), LEVEL)
        pairs = [compared({"abcdefgh"[i]: 1, "abcdefgh"[j]: -1}) for i, j in PAIRS]
        assert p_values == pytest.approx([one.p_value for one in pairs], rel=1e-6, abs=1e-11)
        named = {group.arm for one in pairs if one.split for group in one.split.groups}
        assert named == {arm for arm, is_split in zip("abcdefgh", groups, strict=True) if is_split}


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_the_simulation_of_paired_arms_decides_as_the_package_does(seeds):
    family = next(one for one in FAMILIES if one.name == "10 % fail by 30 sd")
    rng = np.random.default_rng(seeds)
    tables = family.draw(rng, (4, 8, seeds)) + 10 * rng.standard_normal((4, 1, seeds))
    for table, p_values in zip(tables, decide_paired(tables, PAIRS).shipped, strict=True):
        known = paired_spread(dict(enumerate(table)))
        for (i, j), p_value in zip(PAIRS, p_values, strict=True):
            sides = [np.tile(table[arm], (3, 1)) for arm in (i, j)]
            found = welch(*sides, paired=True, least=known.least(table[i], table[j]))
            assert p_value == pytest.approx(found.p_value, rel=1e-6, abs=1e-11)


def test_what_is_shipped_keeps_its_level_where_arms_are_alike():
    """All verdicts and ranks of equal arms in experiments of eight, and of two with 3 seeds or more
    stay below 7 per cent, except where the docs say so."""
    rows = json.loads(RESULTS.read_text())["rows"]
    above = {
        (row["family"], row["seeds"], name)
        for row in rows
        for name in ("both", "of eight", "ranks", "shared")
        if row[name][1] > 7
    }
    assert {(name, seeds) for _, seeds, name in above if seeds > 2} <= {("ranks", 3)}
    assert {name for _, seeds, name in above if seeds == 2} <= {"both"}
    costs = [before - after for row in rows[:4] for before, after in (row["both"], row["one"])]
    assert max(costs) < 0.2


def test_the_table_of_the_docs_is_what_was_measured():
    rows = {(row["family"], row["seeds"]): row for row in json.loads(RESULTS.read_text())["rows"]}
    text = DOCS.read_text()
    lines = re.findall(r"^\| ([^|]+) \| (both|one|of eight|ranks|shared) \|(.+)\|$", text, re.M)
    for family, name, cells in lines:
        for seeds, cell in zip((2, 3, 5, 10), cells.split("|"), strict=True):
            assert [float(x) for x in cell.split("→")] == rows[family, seeds][name]
    assert len(lines) == 30
