"""Covering subsets of matrices: every row and column occurs often enough."""

from itertools import product

import pytest

from tests.covering import covering, representatives, thinned

FULL = list(product("abcdefgh", range(5)))
SPARSE = [(row, column) for row, column in FULL if (ord(row) + column) % 3 or row == "a"]


@pytest.mark.parametrize("each", [1, 2, 3])
@pytest.mark.parametrize("cases", [FULL, SPARSE, [(*one, one[1] % 2) for one in FULL]])
def test_every_value_occurs_as_often_as_it_can(cases: list[tuple], each: int) -> None:
    kept = covering(cases, each)
    for axis in range(len(cases[0])):
        column, all_of_it = [case[axis] for case in kept], [case[axis] for case in cases]
        for value in set(all_of_it):
            assert column.count(value) >= min(each, all_of_it.count(value)), value
    assert kept == [case for case in cases if case in kept], "in order, each once"
    assert len(kept) < len(cases)


def test_of_a_whole_matrix_little_more_than_the_longer_side_is_kept() -> None:
    assert len(covering(FULL, 1)) == 8
    assert len(covering(FULL, 2)) == 16
    assert covering(FULL, 5) == FULL


def test_the_same_cases_are_kept_again_and_those_named_are_among_them() -> None:
    special = [("c", 4), ("a", 0)]
    kept = covering(SPARSE, 1, special)
    assert kept == covering(SPARSE, 1, special)
    assert set(special) <= set(kept)
    with pytest.raises(ValueError, match=r"always has .*'z'.*, which is none of the cases"):
        covering(SPARSE, 1, [("z", 0)])


def test_the_others_are_a_campaign() -> None:
    cases = thinned(SPARSE, 1)
    assert [one.values for one in cases] == SPARSE
    by_default = [one.values for one in cases if not one.marks]
    assert by_default == covering(SPARSE, 1)
    assert {mark.name for one in cases for mark in one.marks} == {"campaign"}


def test_names_stand_for_equal_features() -> None:
    features = {"one": ("a", 1), "two": ("a", 1), "three": ("b", 1), "four": ("a", 2)}
    found = representatives(features, 2)
    assert [one.values for one in found] == [(name,) for name in features]
    assert [one.values[0] for one in found if not one.marks] == ["one", "three", "four"]
