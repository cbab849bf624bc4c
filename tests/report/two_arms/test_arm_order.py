"""The order of arms in two experiments."""

from collections.abc import Callable

import pytest

from harness.report.two_arms.arm_order import compare_order
from tests.made_up_results import MadeUpResults

Fabricate = Callable[..., MadeUpResults]


@pytest.fixture
def sides(fabricate: Fabricate) -> tuple[MadeUpResults, MadeUpResults]:
    """`a` and `b` change places; each has an arm of its own."""
    small = fabricate({"a": 0.7, "b": 0.8, "c": 0.6, "x": 0.9}, examples=400)
    large = fabricate({"a": 0.9, "b": 0.75, "c": 0.6, "y": 0.9}, examples=400)
    return small, large.but(name="large")


def test_the_order_by_hand(sides: tuple[MadeUpResults, MadeUpResults]) -> None:
    found = compare_order(*sides)
    assert list(found.averages) == ["a", "b", "c"]
    assert (found.found.pairs, found.found.alike) == (3, 2)
    small, large = found.averages["a"]
    assert small < found.averages["b"][0] and large > found.averages["b"][1]
    text = found.render("md")
    assert "Of 3 pairs of arms, 2 (67 %) are ordered alike" in text
    assert found.render("csv").splitlines()[0] == f"arm,{sides[0].experiment.name},large"


def test_two_arms_are_one_pair(fabricate: Fabricate) -> None:
    one = fabricate({"a": 0.7, "b": 0.9})
    text = compare_order(one, one.but(name="again")).render("md")
    assert "Of 1 pair of arms, 1 (100 %) are ordered alike" in text


def test_an_experiment_orders_arms_as_itself(sides: tuple[MadeUpResults, MadeUpResults]) -> None:
    found = compare_order(sides[0], sides[0].but(name="again")).found
    assert found.alike == found.pairs == 6


def test_other_tasks_and_too_few_arms_are_refused(fabricate: Fabricate) -> None:
    one, other = fabricate({"a": 0.7, "b": 0.8}), fabricate({"a": 0.7, "c": 0.8})
    with pytest.raises(ValueError, match="must share two finished arms"):
        compare_order(one, other.but(name="other"))
    tasks = one.experiment.evaluate.model_copy(update={"tasks": ("sst2",)})
    with pytest.raises(ValueError, match="must have the same suite and tasks"):
        compare_order(one, one.but(name="other", evaluate=tasks.model_dump()))
