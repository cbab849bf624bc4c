"""Budgets at which the same pretraining has scored at chance before."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from harness.execution.earlier_budgets import chance_budgets
from harness.experiment.declaration import from_data
from harness.plan.factory import make_plan
from harness.plan.plan import Plan
from harness.store.store import Store


def planned(name: str, tokens: int, **pretrain: Any) -> Plan:
    fields = {"recipe": "roberta", "size": "nano", "corpus": "microworld", **pretrain}
    return make_plan(
        from_data(
            {
                "name": name,
                "question": "?",
                "pretrain": {**fields, "budget": {"tokens": tokens}},
                "evaluate": {"suite": "micro-glue-v1", "tasks": ["micro-sst2", "micro-rte"]},
            }
        )
    )


def record(store: Store, plan: Plan, folder: Path, **scores: float) -> None:
    columns = {"arm": plan.arms[0].name, "split": "validation", "metric": "accuracy"}
    rows = [{"task": task, "value": value, **columns} for task, value in scores.items()]
    folder.mkdir()
    pd.DataFrame(rows).to_parquet(folder / "results.parquet")
    (folder / "experiment.yaml").write_text(yaml.safe_dump(plan.declaration.resolved()))
    store.record_experiment(plan.experiment.name, "micro-glue-v1", folder)


@pytest.mark.parametrize(
    ("tokens", "score", "change", "is_warned"),
    [
        (1_000_000, 0.51, {}, True),
        (2_000_000, 0.51, {}, True),
        (3_000_000, 0.51, {}, False),
        (1_000_000, 0.53, {}, False),
        (1_000_000, 0.51, {"size": "tiny"}, False),
        (1_000_000, 0.51, {"optimizer": {"kind": "muon"}}, False),
        (1_000_000, 0.51, {"optimizer": {"beta2": 0.9}}, True),
        (1_000_000, 0.51, {"objective": {"transform": {"mask_rate": 0.3}}}, False),
        (0, 0.51, {}, False),
    ],
)
def test_at_most_the_tokens_of_a_run_at_chance(
    tokens: int, score: float, change: dict[str, Any], is_warned: bool, tmp_path: Path
) -> None:
    store, earlier = Store(tmp_path / "runs"), planned("earlier", 2_000_000)
    record(store, earlier, tmp_path / "record", **{"micro-sst2": score, "micro-rte": 0.48})
    found = list(chance_budgets(planned("now", tokens, **change), store))
    assert bool(found) == is_warned
    assert not is_warned or "in earlier of earlier (micro-sst2 51.0, micro-rte 48.0)" in found[0]
    assert not list(chance_budgets(earlier, store))  # its own report says it
