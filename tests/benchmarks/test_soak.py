"""The soak benchmark: its tenths by hand, and what counts as growth."""

import pytest

from benchmarks.soak import HEADS, PARTS, declared, grown, parts_of
from harness.experiment.declaration import from_data
from harness.plan.factory import make_plan

FLAT = {"seconds": 1.0, "memory": 700.0, "files": 11, "threads": 1, "processes": 0, "temporary": 9}


def rows(**slopes: float) -> list[dict[str, float]]:
    """Rows of 21 studies, of which each adds 5 files and 900 kB; figure to what it grows by."""
    return [
        {
            **{name: value + slopes.get(name, 0) * number for name, value in FLAT.items()},
            "store_files": 100 + 5 * number,
            "store_kilobytes": 2000 + 900 * number,
        }
        for number in range(2 * PARTS + 1)
    ]


def test_tenths_by_hand() -> None:
    parts = parts_of(rows(seconds=1))
    assert len(parts) == PARTS and parts[0].keys() == HEADS.keys()
    assert [part["seconds"] for part in parts[:2]] == [2.5, 4.5]  # of studies 2 and 3, 4 and 5
    assert {part["added_files"] for part in parts} == {5}
    assert {part["added_kilobytes"] for part in parts} == {900}
    assert not grown(parts)


@pytest.mark.parametrize("name", ["memory", "files", "threads", "processes", "temporary"])
def test_growth_is_found(name: str) -> None:
    assert grown(parts_of(rows(**{name: FLAT[name] / 40 or 1}))) == [HEADS[name]]


def test_a_store_that_grows_faster_and_faster_is_found() -> None:
    found = rows()
    for number, row in enumerate(found):
        row["store_kilobytes"] += 40 * number**2
    assert grown(parts_of(found)) == [HEADS["added_kilobytes"]]


def test_studies_share_only_corpus_and_tokenizer() -> None:
    one, other = (make_plan(from_data(declared(number))).stages.keys() for number in (0, 1))
    assert len(one) == 4 and len(one - other) == len(other - one) == 2
