"""What is drawn of a study and how it is compared."""

import math
import random

import pytest

from benchmarks.reproduction import SECONDS, differences, draw, needed, only
from harness.exchange.archives.manifest import ArchivedStage
from harness.plan.factory import load_plan
from harness.plan.plan import Plan
from tests.paths import ROOT


@pytest.fixture(scope="module")
def plan() -> Plan:
    return load_plan(ROOT / "experiments" / "smoke.yaml")


def archived(plan: Plan, seconds: float) -> dict[str, ArchivedStage]:
    return {
        key: ArchivedStage(
            key=key, kind=stage.kind, label="", spec={}, metrics={SECONDS: seconds}, made_with="",
            adopted="", left_out="", digest="",
        )
        for key, stage in plan.stages.items()
    }  # fmt: skip


def test_drawn_stages_come_with_all_that_they_depend_on(plan: Plan) -> None:
    found = draw(plan, archived(plan, 1.0), 1_000.0, random.Random(0))
    assert found == set().union(*(needed(plan, key) for key in found))
    kinds = {plan.stages[key].kind for key in found}
    assert {"tokenizer", "tokenize", "pretrain", "finetune"} <= kinds
    part = only(plan, found)
    assert part.stages.keys() == found and {run.key for run in part.finetune_runs} <= found
    assert part.to_compute([])[-1].kind == "finetune" and len(part.to_compute([])) == len(found)


def test_the_limit_holds_for_all_together(plan: Plan) -> None:
    stages = archived(plan, 1.0)
    shortest = min(len(needed(plan, run.key)) for run in plan.finetune_runs)
    assert len(draw(plan, stages, shortest, random.Random(0))) == shortest
    assert not draw(plan, stages, 0.5, random.Random(0))
    del stages[next(iter(plan.stages))]  # the tokenizer, without which nothing can be compared
    assert not draw(plan, stages, 1_000.0, random.Random(0))


def test_times_and_memory_are_not_compared() -> None:
    old = {"loss": 1.0, "seconds": 3.0, "tokens_per_second": 9.0, "peak_rss_bytes": 1.0, "mfu": 0.1}
    assert not differences({**old, "seconds": 4.0, "flops_per_second": 2.0}, old)
    assert differences({**old, "loss": 1.25}, old) == {"loss": 0.25}
    assert differences({}, {"loss": 1.0}) == differences({"loss": math.nan}, {"loss": 1.0})
    assert differences({}, {"loss": 1.0}) == {"loss": None}
    assert not differences({"loss": math.nan}, {"loss": math.nan})
