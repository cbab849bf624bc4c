"""Budgets below those with which networks of a size have learned."""

from typing import Any

import pytest

from harness.plan.checks.learned_budgets import LEARNED
from tests.paths import ROOT
from tests.plan.checks.test_checks import found, planned

SMALL: dict[str, Any] = {"batch_size": 2, "budget": {"tokens": 256_000}}


def test_fewer_tokens_than_any_network_of_the_size_has_learned_from() -> None:
    (line,) = found("few_tokens", planned(SMALL))
    assert line.startswith("x: 256,000 tokens are fewer than 1,000,000, the smallest budget with")
    assert "; experiment pretraining/learning_curves)" in line
    assert line.endswith("raise pretrain.budget.tokens to 1,000,000 or more")
    (line,) = found("few_tokens", planned({"batch_size": 2, "budget": {"steps": 1000}}))
    assert line.endswith("raise pretrain.budget.steps to 3,907 or more")  # of 2 x 128 tokens


@pytest.mark.parametrize(
    ("pretrain", "more"),
    [
        ({"budget": {"tokens": 256_000}}, "tokens to 1,024,000"),  # 500 updates of 16 x 128
        ({"batch_size": 8, "budget": {"tokens": 256_000}}, "tokens to 1,000,000"),
        ({"budget": {"steps": 125}}, "steps to 500"),
    ],
)
def test_few_updates_of_few_tokens_are_one_warning_of_the_larger_budget(
    pretrain: Any, more: str
) -> None:
    plan = planned(pretrain)
    assert found("few_tokens", plan) == []
    (line,) = found("few_updates", plan)
    assert "updates are fewer than 500" in line and "256,000 tokens are fewer than 1,0" in line
    assert line.endswith(f"; raise pretrain.budget.{more} or more")


def test_arms_of_equal_updates_are_warned_of_their_own_tokens() -> None:
    grid = {"pretrain.size": ["nano", "mini"]}
    nano, mini = found("few_updates", planned({"budget": {"steps": 100}}, grid=grid))
    assert nano.startswith("nano: 100 pretraining updates") and "of size nano is known" in nano
    assert mini.startswith("mini: 100 pretraining updates") and "000,000" not in mini


@pytest.mark.parametrize(
    "pretrain",
    [
        {"budget": {"tokens": 1_000_000}},
        {"budget": {"tokens": 0}},  # the from-scratch control
        {"budget": {"seconds": 1}},  # of unknown tokens
        {**SMALL, "size": "mini"},  # not measured
        {**SMALL, "recipe": "cbow"},  # without the layers that were measured
        {**SMALL, "init_from": {"budget": {"tokens": 2_000_000}}},
    ],
)
def test_other_runs_have_no_such_warning(pretrain: Any) -> None:
    assert found("few_tokens", planned(pretrain)) == []


def test_the_reports_state_what_the_warning_cites() -> None:
    for known in LEARNED.values():
        text = (ROOT / "reports" / known.experiment / "README.md").read_text()
        assert str(known.tokens) in text.replace(",", "")
        assert known.score.partition(" ")[0] in text
