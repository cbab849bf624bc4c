"""Condensed differences between arms."""

from typing import Any

from harness.data.corpora.sources import MicroworldCorpus, MixedCorpus
from harness.experiment.declaration import from_data
from harness.plan.differences import condensed, differences_from_first, flat_fields
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
