"""Micro-worlds by pretraining seed: text, tokenizer, tasks and probes belong together."""

from typing import Any

import pytest

from harness.data.microworld.examples import examples
from harness.plan.plan import Plan, Stage
from harness.plan.worlds import corpus_in, task_in
from harness.tasks import TASKS
from harness.tasks.load_examples import fingerprint, load_examples
from harness.tasks.probes import PROBES, items
from harness.tasks.task import Split
from tests.plan.test_plan import planned

PER_SEED = {"seeds": {"pretrain": 3, "finetune": 2, "world": "per_seed"}}
FIXED = {"seeds": {"pretrain": 3, "finetune": 2}}
CHAINS: dict[str, dict[str, Any]] = {
    "alone": {},
    "multitask": {"multitask": {"mixing": "equal"}},
    "sequential": {"sequential": True},
    "intermediate": {"intermediate_tasks": [{"task": "micro-mnli"}]},
    "continued": {
        "continued_pretraining": [
            {"corpus": {"source": "microworld", "domain": "news"}, "budget": {"tokens": 10_000}},
            {"corpus": {"source": "task"}, "budget": {"tokens": 10_000}},
        ]
    },
}


def worlds_of(stage: Stage) -> set[int]:
    """The worlds that a specification names."""
    spec = stage.spec
    found = (
        {spec["corpus"]["world"]} if spec.get("corpus", {}).get("source") == "microworld" else set()
    )
    tasks = [one for one in (spec, *spec.get("tasks", ())) if "content" in one]
    found |= {one["content"]["data"]["world"] or 0 for one in tasks}
    return found | ({spec.get("world", 0)} if "probe" in spec else set())


def worlds_above(plan: Plan, key: str) -> set[int]:
    """The worlds that a stage and all that it builds on name."""
    stage = plan.stages[key]
    return worlds_of(stage).union(*(worlds_above(plan, one) for one in stage.parents.values()))


@pytest.mark.parametrize("chain", CHAINS)
def test_all_that_a_seed_builds_on_is_of_its_world(chain: str) -> None:
    evaluate = {"tasks": ["micro-sst2", "micro-mrpc"], "probes": ["micro-cloze"], **CHAINS[chain]}
    plan = planned(**PER_SEED, evaluate=evaluate)
    runs: list[Any] = [*plan.finetune_runs, *plan.probe_runs, *plan.sequential_scores]
    assert {run.pretrain_seed for run in runs} == {0, 1, 2}
    for run in runs:
        assert worlds_above(plan, run.key) == {run.pretrain_seed}
    for (_, seed), key in plan.pretrain_keys.items():
        assert worlds_above(plan, key) == {seed}


@pytest.mark.parametrize("chain", CHAINS)
def test_world_0_has_the_stages_of_a_fixed_world(chain: str) -> None:
    evaluate = {"tasks": ["micro-sst2", "micro-mrpc"], "probes": ["micro-cloze"], **CHAINS[chain]}
    fixed, varied = (planned(**seeds, evaluate=evaluate) for seeds in (FIXED, PER_SEED))
    for runs in ("finetune_runs", "probe_runs", "sequential_scores"):
        keys = [
            [one.key for one in getattr(plan, runs) if one.pretrain_seed == 0]
            for plan in (fixed, varied)
        ]
        assert keys[0] == keys[1]
    assert sum(stage.kind == "tokenizer" for stage in varied.stages.values()) == 3


def test_examples_and_items_are_those_of_the_world() -> None:
    task = TASKS["micro-mrpc"]
    other = task_in(1, task)
    assert task_in(0, task) == task and other.content != task.content
    assert fingerprint(other) != fingerprint(task)
    found = load_examples(other, Split(name="train"))
    columns = examples("paraphrase", "train", world=1)
    assert [text[0] for text in found.texts[:5]] == columns["sentence1"][:5]
    probe = PROBES["micro-cloze"]
    assert items.fingerprint(probe, 1) != items.fingerprint(probe)
    assert items.load_items(probe, 1) != items.load_items(probe)
    assert len(items.load_items(probe, 1)) == len(items.load_items(probe))


def test_text_that_is_not_generated_stays() -> None:
    plan = planned()
    (corpus,) = {arm.pretrain.corpus for arm in plan.arms}
    assert corpus_in(2, corpus).world == 2  # type: ignore[union-attr]
    assert task_in(2, TASKS["sst2"]) is TASKS["sst2"]
