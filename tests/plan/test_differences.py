"""Condensed differences between arms."""

from dataclasses import replace
from typing import Any

import pytest

from harness.data.corpora.sources import MicroworldCorpus, MixedCorpus
from harness.experiment.declaration import from_data
from harness.plan.differences import (
    check_contract,
    condensed,
    declared_fields,
    differences_from_first,
    differing_fields,
    flat_fields,
)
from harness.plan.factory import make_plan
from harness.plan.protocol import protocol_of

ROWS: dict[str, dict[str, Any]] = {
    "pretrain.recipe": {"a": "bert", "b": "distilbert"},
    "pretrain.teacher.recipe": {"a": None, "b": "bert"},
    "pretrain.teacher.size.num_layers": {"a": None, "b": 4},
    "pretrain.batch_size": {"a": 8, "b": 16},
}


def test_a_nested_run_that_an_arm_lacks_is_one_row() -> None:
    rows = dict(condensed(ROWS))
    assert rows["pretrain.teacher"] == {"a": None, "b": "another run"}
    assert not any(path.startswith("pretrain.teacher.") for path in rows)
    assert rows["pretrain.batch_size"] == {"a": 8, "b": 16}


def test_nested_runs_of_all_arms_are_compared() -> None:
    rows = {"pretrain.teacher.recipe": {"a": "bert", "b": "roberta"}}
    assert dict(condensed(rows)) == rows


def test_differences_from_first() -> None:
    assert differences_from_first(ROWS, ["a", "b"]) == {
        "b": [
            ("pretrain.teacher", "another run"),
            ("pretrain.recipe", "distilbert"),
            ("pretrain.batch_size", 16),
        ]
    }


def test_the_sources_of_a_mixture_are_compared_field_by_field() -> None:
    corpus = MixedCorpus(sources={"a": MicroworldCorpus(), "b": MicroworldCorpus(seed=3)})
    found = dict(flat_fields("corpus", corpus))
    assert found["corpus.sources.b.seed"] == 3 and "corpus.sources" not in found
    assert found["corpus.weights"] is None


def test_baselines_read_no_settings_that_follow_from_a_size() -> None:
    budget = {"pretrain.budget.tokens": 0}
    fields = {
        "name": "x",
        "question": "?",
        "pretrain": {"size": "nano"},
        "grid": {"pretrain.recipe": ["roberta", "bag_of_words", "majority"]},
        "arms": {"bag_of_words": budget, "majority": budget},
        "evaluate": {"tasks": ["micro-sst2"]},
    }
    plan = make_plan(from_data(fields))
    assert not any(path.startswith("evaluate.") for path in plan.differences)
    protocol = protocol_of(plan)
    assert protocol["pooling"] == "max" and "'learning_rate': 0.001" in str(protocol["finetune"])
    assert not any(name.startswith("except") for name in protocol)


@pytest.mark.parametrize(
    ("axis", "kinds", "fields"),
    [
        ("evaluate.adaptation.kind", ["full", "lora"], {"rank", "alpha", "dropout"}),
        (
            "pretrain.corpus.source",
            ["microworld", "python_stdlib"],
            {"seed", "world", "num_tokens"},
        ),
    ],
)
def test_an_axis_of_kinds_declares_the_fields_that_others_lack(
    axis: str, kinds: list[str], fields: set[str]
) -> None:
    plan = make_plan(from_data(small({axis: kinds})))
    holder = axis.rpartition(".")[0]
    assert {f"{holder}.{name}" for name in fields} | {axis} <= plan.declared


def test_an_axis_of_kinds_declares_no_field_that_all_have() -> None:
    """`mask_rate`, which both have, would be a second difference."""
    transforms = [{"kind": "token_masking", "mask_rate": 0.3}, {"kind": "span_masking"}]
    plan = make_plan(from_data(small({"pretrain.objective.transform": transforms})))
    differences = differing_fields(plan.arms)
    kind = "pretrain.objective.transform.kind"
    arms = [replace(arm, changes={kind: differences[kind][arm.name]}) for arm in plan.arms]
    declared = declared_fields(differences, arms)
    assert declared >= {kind, "pretrain.objective.transform.max_span_length"}
    with pytest.raises(ValueError, match=r"differ in pretrain\.objective\.transform\.mask_rate "):
        check_contract(differences, declared)


def small(grid: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "kinds",
        "question": "?",
        "pretrain": {"recipe": "roberta", "size": "nano", "budget": {"tokens": 20_000}},
        "grid": grid,
        "evaluate": {"tasks": ["micro-rte"]},
    }
