"""What of an experiment is its evaluation protocol, by which results of other sources compare."""

import json
from typing import Any

import pytest

from harness.plan.protocol import (
    protocol_digest,
    protocol_of,
    protocol_text,
    recorded_protocols,
)
from tests.plan.test_plan import planned

EVALUATE = {
    "suite": "glue-v1",
    "tasks": ["rte"],
    "adaptation": {"method": "full", "rank": None},
    "finetune": {"epochs": 3},
    "protocol": {"pooling": "cls", "perturb": None},
}


def of(sweep: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(protocol_text(EVALUATE, sweep or {}, **more))
    return found


def test_it_is_adaptation_protocol_and_fine_tuning_without_nulls_and_tasks() -> None:
    wanted = {"adaptation": {"method": "full"}, "protocol": {"pooling": "cls"}}
    assert of() == wanted | {"finetune": {"epochs": 3}}


def test_a_search_counts_if_it_has_trials_and_that_of_pretraining_never() -> None:
    searched = {"trials": 8, "sampler": "random"}
    assert of({"trials": 0, "sampler": "random"}) == of()
    assert of(searched) == of() | {"sweep": searched}
    assert of(searched | {"pretrain": {"trials": 4}}) == of(searched)
    assert of({"trials": 0, "pretrain": {"trials": 4}}) == of()


def test_examples_of_a_world_for_each_seed_are_others() -> None:
    assert of(world="per_seed") == of() | {"world": "per_seed"}
    assert of(world="fixed") == of(world=None) == of()


def test_the_own_length_of_a_model_is_in_its_protocol() -> None:
    found = of(own_length=256)["protocol"]
    assert found == {"pooling": "cls", "own_max_sequence_length": 256}
    assert of(own_length=None) == of()


@pytest.mark.parametrize(("noise", "shown"), [({"typos": 0.0}, None), ({"typos": 0.1}, 0.1)])
def test_noise_counts_where_there_is_some(noise: dict[str, float], shown: float | None) -> None:
    evaluate = EVALUATE | {"protocol": {"pooling": "cls", "perturb": noise}}
    found = json.loads(protocol_text(evaluate, {}))["protocol"]
    assert found == {"pooling": "cls"} | ({"perturb": {"typos": shown}} if shown else {})


def test_recorded_arms_have_the_protocols_of_their_runs() -> None:
    sweep, other = {"trials": 2}, EVALUATE | {"finetune": {"epochs": 5}}
    spec = {
        "experiment": {"sweep": sweep, "seeds": {"world": "per_seed"}},
        "arms": {"one": {"evaluate": EVALUATE}, "two": {"evaluate": other}},
        "own_lengths": {"two": 128},
    }
    found = recorded_protocols(spec)
    assert found == {
        "one": protocol_text(EVALUATE, sweep, None, "per_seed"),
        "two": protocol_text(other, sweep, 128, "per_seed"),
    }
    assert len(set(map(protocol_digest, found.values()))) == 2
    early = {"experiment": {}, "arms": {"one": {"evaluate": EVALUATE}}}  # of an earlier version
    assert recorded_protocols(early) == {"one": protocol_text(EVALUATE, {})}


def test_a_protocol_is_an_object() -> None:
    with pytest.raises(ValueError, match="a protocol must be a JSON object, not '\\[1\\]'"):
        protocol_digest("[1]")


def shown(arms: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is printed of arms with fields of their own: the base, and each exception."""
    lines = protocol_of(planned(grid={"arms": arms}))
    finetune = lines["finetune"]
    assert isinstance(finetune, dict)
    exceptions = {name: text for name, text in lines.items() if name.startswith("except ")}
    return {"adaptation": lines["adaptation"], **finetune}, exceptions


def test_settings_of_the_size_of_all_arms_are_those_of_the_base() -> None:
    """The one that an arm declares for itself is its exception."""
    tiny = {"pretrain.size": "tiny"}
    base, exceptions = shown({"a": tiny, "b": tiny | {"evaluate.finetune.epochs": 7}})
    assert (base["learning_rate"], base["epochs"]) == (5e-4, 6)
    assert exceptions == {"except b": "finetune.epochs 7"}


def test_settings_of_several_sizes_are_exceptions_of_all_arms() -> None:
    sizes = {size: {"pretrain.size": size} for size in ("nano", "tiny")}
    _, exceptions = shown(sizes)
    assert exceptions == {
        "except nano": "finetune.learning_rate 0.001",
        "except tiny": "finetune.learning_rate 0.0005",
    }


def test_settings_of_other_tasks_are_those_of_the_size_of_all_arms() -> None:
    once = {"task": "micro-mnli", "finetune": {"epochs": 1}}
    evaluate = {"tasks": ["micro-rte"], "intermediate_tasks": [once]}
    lines = protocol_of(planned(pretrain={"size": "nano"}, evaluate=evaluate))
    assert "learning_rate 0.001 batch_size 16 epochs 1" in str(lines["intermediate tasks"])
    assert not [name for name in lines if name.startswith("except ")]


def test_arms_with_another_adaptation_are_named() -> None:
    adapted: dict[str, Any] = {"a": {}, "b": {"evaluate.adaptation": {"kind": "lora", "rank": 2}}}
    base, exceptions = shown(adapted)
    assert base["adaptation"] == "differs by arm (full unless stated)"
    assert exceptions.keys() == {"except b"} and "adaptation lora" in exceptions["except b"]


def searching(arms: dict[str, Any], space: dict[str, Any]) -> dict[str, Any]:
    """What is printed of arms with a search over `space`."""
    sweep = {"trials": 2, "sampler": "random", "space": space}
    return protocol_of(planned(grid={"arms": arms}, sweep=sweep))


def test_a_field_that_one_arm_alone_searches_is_its_exception() -> None:
    space = {"learning_rate": [1e-3, 1e-2], "adaptation": {"full": {"epochs": [2, 3]}, "lora": {}}}
    kinds = {name: {"evaluate.adaptation": {"kind": name}} for name in ("full", "lora")}
    lines = searching(kinds, space)
    assert lines["finetune"]["learning_rate"] == "searched (0.001 or 0.01)"
    assert lines["finetune"]["epochs"] == 6
    assert lines["except full"] == "finetune.epochs searched (2 or 3)"
    assert lines["except lora"] == "adaptation lora"


def test_an_arm_without_trials_is_no_exception_to_searched_adaptations() -> None:
    baseline = {"pretrain.model.family": "majority", "pretrain.budget.tokens": 0}
    lines = searching({"a": {}, "b": baseline}, {"adaptation": {"full": {}, "lora": {}}})
    assert lines["adaptation"] == "full or lora"
    assert not [name for name in lines if name.startswith("except")]
