"""A warning of another experiment of the same name in the store."""

import json
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.execution.outlook import outlook
from harness.execution.same_name import same_name
from harness.plan.plan import Plan
from harness.store.recorded import QUICK_SPEC_FILE, STAGES_FILE
from harness.store.store import Store


def planned(question: str = "Which is better?", steps: int = 3, name: str = "mine") -> Plan:
    corpus = {"source": "microworld", "num_tokens": 20_000}
    pretrain: dict[str, Any] = {"size": "nano", "corpus": corpus, "budget": {"steps": steps}}
    evaluate = {"tasks": ["micro-sst2"]}
    fields = {"name": name, "question": question, "pretrain": pretrain, "evaluate": evaluate}
    return harness.declare(fields).plan


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """In which an experiment was run."""
    earlier, folder = planned(), tmp_path / "record"
    folder.mkdir()
    spec = {"experiment": {"question": earlier.experiment.question}, "arms": {}}
    (folder / QUICK_SPEC_FILE).write_text(json.dumps(spec))
    (folder / STAGES_FILE).write_text(json.dumps(list(earlier.stages)))
    store = Store(tmp_path / "runs")
    store.record_experiment("mine", "micro-glue-v1", folder)
    return store


def test_a_copied_file_with_another_question_and_no_common_stage_is_named(store: Store) -> None:
    corpus = {"source": "microworld", "num_tokens": 30_000}
    other = harness.declare(
        {
            "name": "mine",
            "question": "What else?",
            "pretrain": {"size": "nano", "corpus": corpus, "budget": {"steps": 3}},
            "evaluate": {"tasks": ["micro-sst2"]},
        }
    ).plan
    (line,) = same_name(other, store)
    assert line.startswith(
        "the store has another experiment named 'mine' (Which is better?), whose"
    )


@pytest.mark.parametrize(
    "plan",
    [planned(), planned(question="Reworded?"), planned(steps=4), planned("Other?", 4, "another")],
    ids=["the_same", "another_wording", "another_budget", "another_name"],
)
def test_the_same_experiment_after_a_change_is_not(store: Store, plan: Plan) -> None:
    assert not [*same_name(plan, store)]


def test_plans_warn_of_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.execution.same_name.same_name", lambda *_: ["another"])
    monkeypatch.setattr("harness.execution.earlier_budgets.chance_budgets", lambda *_: [])
    assert "another" in outlook(planned(), store).warnings
