"""Plans of arms that search documents in different ways."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.experiment.declaration import from_data
from harness.experiment.source import DeclarationError
from harness.finetuning import retrieval_index
from harness.plan.factory import make_plan
from harness.plan.plan import Plan
from harness.plan.protocol import protocol_of, protocol_text

INDEX = "evaluate.protocol.index"


@pytest.fixture
def declared(tmp_path: Path) -> Mapping[str, Any]:
    """An experiment with a task of retrieval and another."""
    file = tmp_path / "pages.csv"
    file.write_text("query,page,grade\nred,a red one,1\nblue,a blue one,1\nblue,an old one,-1\n")
    pages = {
        "name": "pages",
        "kind": "retrieval",
        "data": {"source": "csv", "files": {"validation": str(file)}},
        "train": None,
        "text_fields": ["query", "page"],
        "label_field": "grade",
        "group_field": "query",
        "metrics": ["mrr"],
    }
    return {
        "name": "x",
        "question": "which?",
        "pretrain": {"size": "nano", "corpus": "microworld", "budget": {"tokens": 100_000}},
        "evaluate": {"suite": {"name": "found", "tasks": [pages, "micro-cola"]}},
    }


def planned(declared: Mapping[str, Any], **fields: Any) -> Plan:
    return make_plan(from_data({**declared, **fields}))


def with_index(declared: Mapping[str, Any], index: Any) -> dict[str, Any]:
    return {**declared, "evaluate": {**declared["evaluate"], "protocol": {"index": index}}}


def test_an_index_changes_the_keys_of_retrieval_alone(declared: Mapping[str, Any]) -> None:
    plain, both = planned(declared), planned(declared, grid={INDEX: [None, "hnsw"]})
    new = [stage for key, stage in both.stages.items() if key not in plain.stages]
    assert plain.stages.keys() < both.stages.keys()
    (stage,) = new
    assert stage.kind == "finetune" and stage.spec["index"]["neighbors"] == 32
    assert stage.spec["task"] == "pages"
    assert not any("index" in one.spec for one in plain.stages.values())
    assert {f"{INDEX}.kind", f"{INDEX}.ef_search"} < both.differences.keys()


def test_the_protocol_names_the_index_where_there_is_one(declared: Mapping[str, Any]) -> None:
    plan = make_plan(from_data(with_index(declared, {"kind": "ivf", "probes": 4})))
    assert protocol_of(plan)["index"] == "ivf top_k=10 probes=4"
    assert "index" not in protocol_of(planned(declared))
    (arm,) = plan.arms
    text = protocol_text(arm.evaluate.model_dump(mode="json"), {})
    assert '"index": {"kind": "ivf", "probes": 4, "top_k": 10}' in text
    (arm,) = planned(declared).arms
    assert "index" not in protocol_text(arm.evaluate.model_dump(mode="json"), {})


def test_an_index_needs_its_package(
    declared: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrieval_index, "PACKAGE", "no_such_package")
    with pytest.raises(DeclarationError) as error:
        from_data(with_index(declared, "hnsw"))
    (message,) = str(error.value).splitlines()
    assert "evaluate.protocol.index needs the package faiss-cpu" in message
    assert "pip install 'pretraining-harness[index]'" in message
    planned(declared)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ({"kind": "hnsw", "ef_search": 5}, "ef_search must be at least top_k (10)"),
        ({"kind": "hnsw", "top_k": 20}, "ef_search must be at least top_k (20)"),
        ({"kind": "ivf", "lists": 4, "probes": 5}, "probes must be at most lists (4)"),
        ({"kind": "ivf", "top_k": 5}, "evaluate.protocol.index.top_k must be at least 10"),
        ({"kind": "hnsw", "lists": 5}, "lists"),
        ("flat", "flat"),
    ],
)
def test_bad_input_is_one_line(declared: Mapping[str, Any], index: Any, message: str) -> None:
    with pytest.raises(DeclarationError) as error:
        from_data(with_index(declared, index))
    (line,) = str(error.value).splitlines()
    assert message in line
