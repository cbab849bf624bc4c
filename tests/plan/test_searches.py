"""Searches of arms that differ in adaptation: the example of docs/sweeps.md, and wrong ones."""

from textwrap import dedent
from typing import Any

import pytest
import yaml

from harness.experiment.declaration import Declaration, from_data
from harness.experiment.source import DeclarationError
from harness.plan.factory import make_plan
from harness.plan.protocol import protocol_of
from tests.paths import ROOT


def example(**sweep: Any) -> Declaration:
    text = (ROOT / "docs" / "sweeps.md").read_text()
    block = text[text.index("    name: lora_or_full") :].partition("\n\n")[0]
    data = yaml.safe_load(dedent(block))
    return from_data(data | {"sweep": data["sweep"] | sweep})


def test_each_arm_searches_the_space_of_its_adaptation_with_equal_trials() -> None:
    plan = make_plan(example())
    assert {arm: list(sweep.space) for arm, sweep in plan.searches.items()} == {
        "full": ["batch_size", "learning_rate"],
        "lora": ["batch_size", "learning_rate", "adaptation.rank"],
    }
    searches = [stage for stage in plan.stages.values() if stage.kind == "tune"]
    assert {len(stage.parents) for stage in searches} == {8} and len(searches) == 4
    for stage in searches:
        arm = stage.label.partition(",")[0]
        assert stage.spec["adaptation"] == plan.arms[arm == "lora"].evaluate.adaptation.content
        assert stage.spec["sweep"]["space"] == plan.searches[arm].model_dump()["space"]
    assert plan.searched == ["batch_size", "learning_rate", "adaptation.rank"]


FULL, LORA = {"learning_rate": [1e-4]}, {"learning_rate": [1e-3], "rank": [4, 8]}


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ({"space": {"adaptation": {"full": FULL}}}, "must have a space for lora, the adaptation"),
        (
            {"space": {"adaptation": {"full": FULL, "lora": LORA, "ia3": FULL}}},
            "adaptation.ia3: no arm has it; remove it",
        ),
        (
            {"space": {"adaptation": {"full": {}, "lora": LORA}}},
            "something to search for 'full', but the space of full is empty",
        ),
        (
            {"sampler": "grid", "space": {"adaptation": {"full": FULL, "lora": LORA}}},
            "must be the same for all arms, .* full 1, lora 2; set sweep.trials to 1 or less",
        ),
        ({"space": {"adaptation.rank": [4, 8]}}, "no field rank.*sweep.space.adaptation: {full"),
    ],
)
def test_spaces_that_do_not_fit_the_arms(sweep: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        example(**sweep)


def test_a_field_that_the_axis_gives_is_not_searched() -> None:
    axis = {"grid": {"evaluate.adaptation": ["full", {"kind": "lora", "rank": 2}]}}
    data = example().experiment.model_dump(mode="json", exclude_unset=True) | axis
    with pytest.raises(DeclarationError, match="replaces the rank of 'lora,rank=2', 2; remove one"):
        from_data(data | {"expect": []})


def test_the_protocol_shows_what_is_searched_in_place_of_values_that_no_run_uses() -> None:
    protocol = protocol_of(make_plan(example()))
    finetune = protocol["finetune"]
    assert isinstance(finetune, dict)
    assert finetune["learning_rate"] == (
        "searched (full: 0.0001 to 0.003 (log); lora: 0.0003 to 0.01 (log))"
    )
    assert finetune["batch_size"] == "searched (16 or 32)"
    assert protocol["except lora"] == "adaptation lora, rank searched (4 or 8 or 16)"


def test_each_pretraining_seed_has_a_search_of_its_own_network() -> None:
    """That of the first is the one that an experiment with one search has."""
    once, each = make_plan(example()), make_plan(example(seeds="each"))
    first, own = (
        {
            (run.arm, run.task, run.pretrain_seed): plan.stages[run.key].parents["tune"]
            for run in plan.finetune_runs
        }
        for plan in (once, each)
    )
    assert len(first) == len(own) == len(set(own.values())) == 12 and len(set(first.values())) == 4
    for (arm, task, seed), key in own.items():
        assert (key == first[arm, task, seed]) is (seed == 0)
        trials = [each.stages[trial] for trial in each.stages[key].parents.values()]
        assert {one.parents["pretrain"] for one in trials} == {each.pretrain_keys[arm, seed]}
        assert {one.spec.get("repeat", 0) for one in trials} == {seed}
    assert protocol_of(each)["sweep"] == "8 random trials per pretraining seed"
    assert each.searched == once.searched


def test_the_searches_of_every_seed_count_for_the_size_of_a_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stages = make_plan(example(seeds="each")).stages.values()
    number = sum(stage.kind in ("trial", "finetune") for stage in stages)
    monkeypatch.setattr("harness.experiment.checks.size.MAX_RUNS", number - 1)
    assert example().arms
    with pytest.raises(DeclarationError, match=f"has {number}: .* 8 trials for each pretraining"):
        example(seeds="each")


def test_searches_of_every_seed_need_trials() -> None:
    with pytest.raises(DeclarationError, match="seeds each needs trials, but there are none"):
        example(seeds="each", trials=0)


def test_ranks_are_searched_beside_those_of_the_arm_and_not_beside_the_defaults() -> None:
    """The default rank of adalora is 8, and its final share one half."""
    data = {
        "name": "ranks",
        "question": "Which?",
        "pretrain": {"size": "nano", "budget": {"tokens": 1_000_000}},
        "evaluate": {"adaptation": {"kind": "adalora", "rank": 4}},
    }
    for space in (
        {"adaptation.initial_rank": [6, 8]},
        {"adaptation.initial_fraction": [0.6, 0.7], "adaptation.final_fraction": [0.1, 0.2]},
        {"adaptation": {"full": {}, "adalora": {"rank": [2, 4], "initial_rank": [6, 8]}}},
    ):
        from_data(data | {"sweep": {"trials": 2, "space": space}})
