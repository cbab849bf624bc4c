"""The board of findings."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import scipy.stats

from harness.core.csv_text import csv_text
from harness.experiment.claims import CLAIMS
from harness.leaderboard.published_relations import published_relations
from harness.report.findings.board import (
    Evidence,
    accuracy_by_budget,
    counts,
    decision_accuracy,
    findings,
    num_beside,
    num_counted,
    overall,
    read_evidence,
    screened,
)
from harness.report.findings.content import folded, shown
from harness.report.findings.decisions import read_decisions
from harness.report.findings.html import page as html_page
from harness.report.findings.markdown import board
from harness.report.verdict import TOO_MANY
from harness.report.verdict_rows import COLUMNS
from tests.paths import ROOT


def evidence(
    verdict: str, p_value: float | None = 0.001, claims: Sequence[str] = ("E1",)
) -> Evidence:
    return Evidence(
        report="part/report",
        claims=tuple(claims),
        expectation="a > b",
        verdict=verdict,
        difference=1.0,
        unit="points",
        low=0.5,
        high=1.5,
        p_value=p_value,
        num_seeds=3,
        reason="",
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "not tested"),
        (["void"], "void"),
        (["void", "inconclusive"], "inconclusive"),
        (["inconclusive", "confirmed"], "confirmed"),
        (["refuted", "refuted"], "refuted"),
        (["refuted", "confirmed", "inconclusive"], "mixed"),
    ],
)
def test_the_verdict_on_a_claim_is_that_of_its_decisions(words: list[str], expected: str) -> None:
    assert overall([evidence(word) for word in words]) == expected


def test_decisions_must_hold_among_all_expectations() -> None:
    """Of 20 tests, one has p below 0.05 by chance; among three with p = 0.001, it counts."""
    weak, strong = evidence("confirmed", 0.03), evidence("refuted", 1e-5)
    undecided = [evidence("inconclusive", 0.5)] * 18
    words = [one.verdict for one in screened([weak, strong, *undecided])]
    assert words[:2] == ["inconclusive", "refuted"]
    few = screened([weak, *[evidence("confirmed", 0.001)] * 3])
    assert [one.verdict for one in few] == ["confirmed"] * 4
    void = [evidence("void", 0.9)] * 100
    assert screened([weak, *void])[0].verdict == "confirmed"
    of_one_seed = [replace(evidence("inconclusive", 0.9), num_seeds=1)] * 100
    assert screened([weak, *of_one_seed])[0].verdict == "confirmed"


def test_every_claim_has_a_finding_in_its_order() -> None:
    found = findings([evidence("confirmed", claims=("E24", "E73"))])
    assert [one.claim.id for one in found] == list(CLAIMS)
    known = {one.claim.id: one.verdict for one in found}
    assert known["E24"] == known["E73"] == "confirmed"
    assert counts(found) == {
        "confirmed": 2,
        "refuted": 0,
        "mixed": 0,
        "inconclusive": 0,
        "void": 0,
        "published only": 0,
        "not tested": 131,
    }


def test_published_relations_stand_beside_verdicts_and_do_not_change_them() -> None:
    relations = published_relations()
    found = findings([evidence("refuted", claims=("E24",))], relations)
    known = {one.claim.id: one for one in found}
    assert known["E24"].verdict == "refuted"
    assert known["E106"].verdict == "published only"
    assert sum(len(one.published) for one in found) == len(relations)
    page = board(found, Path("reports"), Path("findings.md"))
    assert "RoBERTa > GPT-3 few-shot - OpenAI in 1 of 1 (https://super.gluebenchmark.com)" in page
    assert decision_accuracy(found) == decision_accuracy(findings([evidence("refuted")]))


def test_decision_accuracy_has_the_exact_interval() -> None:
    rows = [evidence("confirmed", claims=(f"E{number}",)) for number in range(1, 8)]
    rows += [evidence("refuted", claims=(f"E{number}",)) for number in range(8, 11)]
    share, low, high = decision_accuracy(findings(rows)) or (0, 0, 0)
    assert share == 0.7
    ends = scipy.stats.beta.ppf(0.025, 7, 4), scipy.stats.beta.ppf(0.975, 8, 3)
    assert (low, high) == pytest.approx(ends)
    assert decision_accuracy(findings([])) is None
    mixed = [evidence(word, claims=("E11",)) for word in ("confirmed", "refuted")]
    assert decision_accuracy(findings([*rows, *mixed])) == (share, low, high)


def test_claims_that_counts_alone_decide() -> None:
    rows = [
        evidence("confirmed", p_value=None, claims=("E1", "E2")),
        evidence("confirmed", claims=("E2",)),
        evidence("confirmed", claims=("E3",)),
        evidence("void", p_value=None, claims=("E4",)),
    ]
    assert num_counted(findings(rows)) == 1


def test_decided_claims_with_undecided_results() -> None:
    rows = [
        evidence("confirmed", claims=("E1", "E2")),
        evidence("void", p_value=None, claims=("E1",)),
        evidence("refuted", claims=("E3",)),
        evidence("inconclusive", 0.5, claims=("E3", "E4")),
    ]
    found = findings(rows)
    assert num_beside(found) == 2
    page = " ".join(board(found, ROOT / "reports", ROOT / "docs/findings.md").split())
    assert "One decision is enough: 2 have inconclusive or void results beside it." in page


def test_the_verdict_of_a_report_stands_beside_that_of_the_board() -> None:
    (kept,) = screened([evidence("confirmed")])
    assert shown(kept).startswith("confirmed, ")
    (lost, *_) = screened([evidence("refuted", 0.04), *[evidence("inconclusive", 0.5)] * 9])
    assert shown(lost).startswith("inconclusive here, refuted in the report, ")


def test_decision_accuracy_by_budget() -> None:
    """A claim counts in each range of budgets that decides it, whatever others say."""
    rows = [
        replace(evidence("refuted", claims=("E24",)), tokens=2e5),
        replace(evidence("confirmed", claims=("E24",)), tokens=1e6),
        replace(evidence("confirmed", claims=("E1",)), tokens=2e6),
        replace(evidence("inconclusive", 0.5, claims=("E2",)), tokens=2e6),
        evidence("confirmed", claims=("E3",)),  # of an unknown budget
    ]
    found = {ends: of[:2] for ends, of in accuracy_by_budget(findings(rows)).items()}
    assert found == {(0.0, 1e6): (0, 1), (1e6, 3e6): (2, 0)}
    page = board(findings(rows), Path("reports"), Path("findings.md"))
    assert "| below 1M | 0 | 1 | 0 % | 0 to 98 % |" in page  # 1 - 0.025 of one claim
    assert "| 1M to 3M | 2 | 0 | 100 % | 16 to 100 % |" in page  # sqrt(0.025)


def test_a_board_is_made_of_the_files_of_reports(tmp_path: Path) -> None:
    folder = tmp_path / "reports" / "part" / "study"
    folder.mkdir(parents=True)
    lines = [
        (
            "E1 E2",
            "a_b > c|d",
            "confirmed",
            "2.0",
            "points",
            "1.0",
            "3.0",
            "0.001",
            "",
            "3",
            "",
            "2e6",
            "why",
        ),
        (
            "E3",
            "x < y in held-out loss",
            "void",
            "-0.5",
            "nats per predicted token",
            "-1",
            "0",
            "0.1",
            "",
            "3",
            "49",
            "",
            "",
        ),
        ("", "p > q", "refuted", "-2.0", "points", "-3.0", "-1.0", "0.001", "", "3", "", "", ""),
        ("E4", "r > s", "inconclusive", *[""] * 9, "no score yet"),
    ]
    (folder / "verdicts.csv").write_text(csv_text([COLUMNS, *lines]))
    found = findings(read_evidence(tmp_path / "reports"))
    words = {one.claim.id: one.verdict for one in found[:5]}
    assert words == {
        "E1": "confirmed",
        "E2": "confirmed",
        "E3": "void",
        "E4": "inconclusive",
        "E5": "not tested",
    }
    page = board(found, tmp_path / "reports", tmp_path / "docs" / "findings.md")
    link = (
        "[a_b > c\\|d](../reports/part/study/README.md): confirmed, +2.0 (+1.0 to +3.0; 3 seeds) |"
    )
    assert link in page
    assert "void, −0.500 nats per predicted token (−1.000 to 0; 3 of 49 seeds)" in page
    assert shown(found[3].evidence[0]) == "inconclusive"


@pytest.mark.parametrize(
    ("num_seeds", "needed", "expected"),
    [
        (3, None, "3 seeds"),
        (1, None, "1 seed"),
        (3, 49.0, "3 of 49 seeds"),
        (3, float(TOO_MANY), "3 of more than 1,000 seeds"),
        (3, float("inf"), "3 seeds, more would not do"),
    ],
)
def test_seeds_stand_beside_the_interval(
    num_seeds: int, needed: float | None, expected: str
) -> None:
    one = replace(evidence("inconclusive"), num_seeds=num_seeds, seeds_needed=needed)
    assert shown(one) == f"inconclusive, +1.0 (+0.5 to +1.5; {expected})"


def test_the_board_counts_what_lacks_seeds(tmp_path: Path) -> None:
    """Each result once, although it is evidence on two claims."""
    needed = [None, 4.0, 16.0, 17.0, 100.0, 101.0, float(TOO_MANY), float("inf")]
    some = [
        replace(evidence("inconclusive", 0.5, ("E1", "E2")), expectation=str(n), seeds_needed=one)
        for n, one in enumerate(needed)
    ]
    text = "Of the 7 inconclusive results that lack seeds, 2 need at most 16, 2 at most 100, and 3 "
    for page in (board, html_page):
        made = page(findings(some), tmp_path, tmp_path / "board")
        assert text in " ".join(made.split())
        assert "lack seeds" not in page(findings([some[0]]), tmp_path, tmp_path / "board")


def test_cells_are_read_as_they_were_written(tmp_path: Path) -> None:
    """A formula in a spreadsheet is marked, and p of runs that are all equal is 0."""
    line = [
        "E1",
        "=a > b",
        "confirmed",
        "2.0",
        "points",
        "1.0",
        "3.0",
        "0.0",
        "",
        "3",
        "",
        "",
        "why",
    ]
    (tmp_path / "verdicts.csv").write_text(text := csv_text([COLUMNS, line]))
    assert "'=a > b" in text
    (found,) = read_evidence(tmp_path)
    assert (found.expectation, found.p_value, found.reason) == ("=a > b", 0.0, "why")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([["claims"]], "the columns must be claims, expectation"),
        ([COLUMNS, ["E999", "a > b", "confirmed", *["1"] * 9, ""]], "unknown claims: E999"),
        (
            [COLUMNS, ["E1", "a > b", "confirmed", "much", *["1"] * 8, ""]],
            "does not have the values",
        ),
        ([COLUMNS, ["E1", "a > b"]], "does not have the values"),
        ([COLUMNS, ["E1", "a > b", "konfirmed", *["1"] * 10]], "does not have the values"),
        (
            [COLUMNS, ["E1", "a > b", "void", "1", "points", "0", "2", "7", "", "3", "", "", ""]],
            "not have",
        ),
        ([COLUMNS, ["E1", "a > b", "void", *["1"] * 11]], "does not have the values"),
        ([COLUMNS, ["E1", "a" * 200_000, "void", *["1"] * 10]], "cannot be read: field larger"),
    ],
)
def test_broken_files_are_named(tmp_path: Path, lines: list[list[str]], expected: str) -> None:
    (tmp_path / "verdicts.csv").write_text(csv_text(lines))
    with pytest.raises(ValueError, match=expected) as caught:
        read_evidence(tmp_path)
    assert str(tmp_path / "verdicts.csv") in str(caught.value)


def test_the_committed_board_is_that_of_the_committed_reports() -> None:
    found = findings(read_evidence(ROOT / "reports"), published_relations())
    decisions = read_decisions(ROOT / "reports")
    page = board(found, ROOT / "reports", ROOT / "docs" / "findings.md", decisions)
    assert page == (ROOT / "docs" / "findings.md").read_text()
    with_filters = html_page(found, ROOT / "reports", ROOT / "docs" / "findings.html", decisions)
    assert with_filters == (ROOT / "docs" / "findings.html").read_text()


def test_one_report_is_in_the_singular() -> None:
    page = board(findings([evidence("confirmed")]), Path("reports"), Path("findings.md"))
    assert "claims of the literature: 1 experiment with" in " ".join(page.split())


def test_only_what_is_counted_is_exact() -> None:
    flat = replace(evidence("confirmed", 0.0), low=1.0, high=1.0)
    assert shown(flat) == "confirmed, +1.0 (the same in every run)"
    assert shown(replace(flat, p_value=None)) == "confirmed, +1.0 (exact)"


def test_of_many_results_the_decisions_come_first_and_the_rest_is_folded() -> None:
    words = ["void", "confirmed", "confirmed", "inconclusive", "refuted", "inconclusive"]
    rows = [replace(evidence(word, 1e-9), expectation=f"{i} > b") for i, word in enumerate(words)]
    (found, *_) = findings(rows)
    assert [one.expectation[0] for one in found.by_weight] == ["4", "1", "2", "0", "3", "5"]
    numbers, rest = folded(found)
    assert numbers == "2 more inconclusive" and [one.expectation[0] for one in rest] == ["3", "5"]
    text = board([found], Path("reports"), Path("findings.md"))
    assert "<details><summary>2 more inconclusive</summary>[3 > b]" in text
    assert "<details>" not in board(findings(rows[:4]), Path("reports"), Path("findings.md"))


def test_claims_are_numbered_and_have_an_area() -> None:
    assert list(CLAIMS) == [f"E{number}" for number in range(1, 134)]
    assert all(one.area and one.claim and one.compare for one in CLAIMS.values())


def test_the_verdicts_of_a_report_are_those_of_its_page() -> None:
    files = sorted((ROOT / "reports").rglob("verdicts.csv"))
    assert len(files) > 20
    for file in files:
        page = (file.parent / "README.md").read_text().replace("\\", "")
        for row in csv.DictReader(file.read_text().splitlines()):
            assert f"- {row['expectation']}: **{row['verdict']}**" in page, file
