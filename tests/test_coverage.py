"""docs/coverage.md is what docs/make_coverage.py makes, and what it names exists."""

import runpy
from typing import Any

import pytest

from tests.paths import ROOT

MADE = runpy.run_path(str(ROOT / "docs/make_coverage.py"))
ROWS: list[Any] = MADE["read"]()


def problems(**changes: str) -> list[str]:
    """The problems of a sound row with changes."""
    sound = MADE["Row"]("A1", "Encoders", "BERT", "there", "recipe bert", "tests/paths.py", "", "")
    found: list[str] = MADE["problems"]([sound._replace(**changes)])
    return found


def test_the_page_is_current() -> None:
    """python docs/make_coverage.py writes it."""
    assert MADE["page"](ROWS) == (ROOT / "docs/coverage.md").read_text()


def test_all_that_is_named_exists() -> None:
    assert MADE["problems"](ROWS) == []
    assert len(ROWS) > 200


@pytest.mark.parametrize(
    "member",
    [
        "recipe bert",
        "corpus c4",
        "metric matthews",
        "outcome loss",
        "published swag",
        "published swag: ESIM+GloVe",
        "pretrain.model.share_decoder: true",
        "pretrain.objective.sentence_pair: nsp",
        "pretrain.phases.sequence_length",
        "evaluate.intermediate_tasks.siamese: triplet",
    ],
)
def test_a_member_that_exists(member: str) -> None:
    assert problems(members=member) == []


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        ("recipe brt", "there is no recipe 'brt'"),
        ("size 11b", "there is no size '11b'"),
        ("metric bleurt", "there is no metric 'bleurt'"),
        ("published swagger", "there is no published table 'swagger'"),
        ("published swag: ESIM", "the published table swag has no row 'ESIM'"),
        ("pretrain.objectiv", "experiments have no field 'pretrain.objectiv'"),
        (
            "pretrain.objective.sentence_pair: sop2",
            "experiments have no field 'pretrain.objective.sentence_pair: sop2'",
        ),
        (
            "pretrain.batch_size: true",
            "experiments have no field 'pretrain.batch_size: true'",
        ),
        ("recipee bert", "experiments have no field 'recipee bert'"),
    ],
)
def test_a_wrong_member_is_found(member: str, problem: str) -> None:
    assert problems(members=f"recipe bert; {member}") == [f"A1: {problem}"]


def test_a_wrong_path_is_found() -> None:
    assert problems(tests="tests/none.py") == ["A1: there is no tests/none.py"]
    assert problems(reports="reports/none") == ["A1: there is no reports/none"]


def test_each_status_has_what_it_needs() -> None:
    (member_and_test,) = problems(tests="")
    assert member_and_test == "A1: what is there must have a member and a test"
    assert problems(members="") == [member_and_test]
    for status in ("partly", "missing", "out of scope"):
        assert problems(status=status) == [f"A1: what is {status} must have a reason"]
    (table,) = problems(status="published", reason="People")
    assert table == "A1: what is published must name its table first"
    (unknown,) = problems(status="done", reason="x")
    assert unknown.startswith("A1: the status must be there, partly, ")


def test_a_row_given_twice_is_found() -> None:
    assert MADE["problems"]([ROWS[0], ROWS[0]]) == [f"{ROWS[0].id}: is given twice"]
