"""The part of a plan with the first seeds, and the order of stages by looks."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.execution.priority import ReadyQueue
from harness.plan.factory import load_plan
from harness.plan.first_seeds import RUNS, first_seeds, keys_of_seed, look_of_stages
from harness.plan.plan import Plan, Stage

TEXT = """
name: small
question: Is it better?
pretrain: {size: nano, corpus: microworld, budget: {tokens: 100_000}}
grid: {pretrain.objective.sentence_pair: [nsp, none]}
evaluate: {tasks: [micro-sst2, micro-rte]}
seeds: SEEDS
"""


@pytest.fixture
def plan_of(tmp_path: Path):
    def make(seeds: str) -> Plan:
        file = tmp_path / "small.yaml"
        file.write_text(TEXT.replace("SEEDS", seeds))
        return load_plan(file)

    return make


def test_looks_change_no_key(plan_of) -> None:
    plain = plan_of("{pretrain: 5}")
    assert plan_of("{pretrain: 5, looks: [2, 3]}").stages.keys() == plain.stages.keys()
    pocock = plan_of("{pretrain: 5, looks: [2, 3], spending: pocock}")
    assert pocock.stages.keys() == plain.stages.keys()


def test_the_first_seeds_are_the_plan_with_fewer_seeds(plan_of) -> None:
    part = first_seeds(plan_of("{pretrain: [7, 3, 5, 1], looks: [2]}"), 2)
    fewer = plan_of("{pretrain: [7, 3]}")
    assert set(keys_of_seed(part)) == set(keys_of_seed(fewer))
    for name in RUNS:
        assert getattr(part, name) == getattr(fewer, name)
    assert part.experiment.seeds == fewer.experiment.seeds


def needs(stages: Mapping[str, Stage], key: str) -> set[str]:
    """A stage and all that it depends on."""
    return {key}.union(*(needs(stages, one) for one in stages[key].parents.values()))


def test_a_stage_has_the_first_look_that_needs_it(plan_of) -> None:
    plan = plan_of("{pretrain: 5, looks: [2, 4]}")
    found = look_of_stages(plan)
    assert found.keys() == plan.stages.keys()
    for key, look in found.items():
        users = [seed for _, seed, of in keys_of_seed(plan) if key in needs(plan.stages, of)]
        assert look == min((0, 0, 1, 1, 2)[seed] for seed in users)
    assert look_of_stages(plan_of("{pretrain: 5}")) == {}


def test_a_queue_takes_what_the_next_look_needs(plan_of) -> None:
    plan = plan_of("{pretrain: 5, looks: [2, 4]}")
    looks, finished, order = look_of_stages(plan), set[str](), []
    queue = ReadyQueue(plan.stages, plan.stages.values(), finished, looks)
    while key := queue.pop():
        queue.waiting.remove(key)
        finished.add(key)
        queue.finish(key)
        order.append(looks[key])
    assert order == sorted(order) and len(order) == len(plan.stages) and {*order} == {0, 1, 2}
