"""Plans: shared stages, keys that change exactly with the results, differences between arms."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.experiment.arms import combinations, resolve_arm
from harness.experiment.declaration import Declaration
from harness.experiment.experiment import Experiment
from harness.models import MODELS
from harness.plan.differences import differing_fields
from harness.plan.factory import make_plan
from harness.plan.graph import pretraining_repairs
from harness.plan.keys import stage_key
from harness.plan.plan import Plan, Stage
from harness.plan.protocol import protocol_of
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.recipes import RECIPES
from harness.tasks.evaluation_texts import evaluation_fingerprints
from tests.paths import ROOT

BASE: dict[str, Any] = {
    "name": "x",
    "question": "which?",
    "pretrain": {"size": "nano", "corpus": "microworld", "budget": {"tokens": 100_000}},
    "evaluate": {"tasks": ["micro-sst2", "micro-stsb"]},
}


def planned(**fields: Any) -> Plan:
    experiment = Experiment.model_validate(BASE | fields)
    arms = [resolve_arm(experiment, *picked) for picked in combinations(experiment.grid)]
    return make_plan(Declaration(experiment, tuple(arms)))


def kinds(plan: Plan) -> dict[str, int]:
    found = [stage.kind for stage in plan.stages.values()]
    return {kind: found.count(kind) for kind in dict.fromkeys(found)}


def test_networks_are_small_if_all_are() -> None:
    assert planned().has_small_networks
    assert not planned(grid={"pretrain.size": ["nano", "base"]}).has_small_networks


def test_equal_stages_are_shared() -> None:
    plan = planned(
        grid={"pretrain.objective.sentence_pair": ["nsp", "none"]},
        seeds={"pretrain": 2, "finetune": 3},
        sweep={"trials": 2, "sampler": "tpe", "space": "bert_grid"},
    )
    # 2 arms x 2 pretraining seeds; a sweep for each (arm, task); 3 fine-tunings of each model.
    assert kinds(plan) == {"tokenizer": 1, "tokenize": 1, "pretrain": 4, "tune": 4, "finetune": 24}
    assert len(plan.finetune_runs) == 24


def test_parents_come_first() -> None:
    seen: set[str] = set()
    for key, stage in planned(sweep={"trials": 1, "space": "bert_grid"}).stages.items():
        assert set(stage.parents.values()) <= seen
        seen.add(key)


def stages_of(kind: str, **fields: Any) -> list[Stage]:
    return [stage for stage in planned(**fields).stages.values() if stage.kind == kind]


@pytest.mark.parametrize("sampler", ["random", "grid"])
def test_a_longer_search_reuses_trials(sampler: str) -> None:
    def trials(number: int, space: Any = "bert_grid") -> list[str]:
        sweep = {"trials": number, "sampler": sampler, "space": space}
        return [stage.key for stage in stages_of("trial", sweep=sweep)]

    few, many = trials(2), trials(4)
    # Two tasks, whose trials come one task after the other.
    assert [many[0], many[1], many[4], many[5]] == few
    assert not set(few) & set(trials(2, "roberta_grid"))
    gathered = [stages_of("tune", sweep={"trials": n, "sampler": sampler, "space": "bert_grid"})
                for n in (2, 4)]  # fmt: skip
    assert [list(stages[0].parents) for stages in gathered] == [
        ["trial0", "trial1"],
        ["trial0", "trial1", "trial2", "trial3"],
    ]
    assert gathered[0][0].key != gathered[1][0].key


def test_a_study_keeps_its_name_when_it_is_continued() -> None:
    def study(**sweep: Any) -> tuple[str, str]:
        fields = {"trials": 2, "sampler": "tpe", "space": "bert_grid"}
        stage = stages_of("tune", sweep={**fields, **sweep})[0]
        return stage.spec["study"], stage.key

    assert study()[0] == study(trials=4)[0] and study()[1] != study(trials=4)[1]
    assert study()[0] != study(pruner="median")[0]
    assert study()[0] != study(space="roberta_grid")[0]


def test_every_arm_and_task_has_as_many_trials_of_one_space() -> None:
    grid = {"pretrain.objective.sentence_pair": ["nsp", "none"]}
    sweep = {"trials": 100, "sampler": "grid", "space": "roberta_grid"}
    stages = stages_of("trial", grid=grid, sweep=sweep)
    assert len(stages) == 2 * 2 * 6
    searched = {(str(stage.spec["sweep"]), stage.spec["trial"]) for stage in stages}
    assert len(searched) == 6


def pretrain_keys(**fields: Any) -> set[str]:
    return {stage.key for stage in planned(**fields).stages.values() if stage.kind == "pretrain"}


@pytest.mark.parametrize(
    "change",
    [
        {"objective": {"transform": {"mask_rate": 0.2}}},
        {"optimizer": {"beta2": 0.9}},
        {"batch_size": 7},
        {"corpus": {"source": "microworld", "seed": 1}},
        {"tokenizer": {"vocab_size": 500}},
        {"recipe": "roberta"},
    ],
)
def test_changes_of_the_result_change_the_key(change: dict[str, Any]) -> None:
    assert pretrain_keys().isdisjoint(pretrain_keys(pretrain=BASE["pretrain"] | change))


def test_texts_of_which_fewer_documents_passed_the_quality_rules_have_other_keys() -> None:
    """Of the corpus and of a source of a mixture."""
    source = {"source": "text", "path": str(ROOT / "README.md")}
    sources = {"a": source, "b": source | {"steps": ["quality"]}}
    mixture = {"source": "mixture", "sources": sources}
    for corpus, is_marked in ((source, False), (sources["b"], True), (mixture, True)):
        text = planned(pretrain=BASE["pretrain"] | {"corpus": corpus}).stages.values()
        assert {"quality" in one.spec for one in text if one.kind == "tokenize"} == {is_marked}


@pytest.mark.parametrize("step", ["deduplicate_near", "deduplicate"])
def test_text_from_which_few_near_duplicates_were_removed_has_other_keys(step: str) -> None:
    corpus = {"source": "microworld", "steps": [step]}
    of_train = BASE["pretrain"] | {"corpus": corpus}
    of_held_out = BASE["pretrain"] | {"held_out": corpus | {"seed": 1}}
    for run, kinds in ((of_train, ["tokenizer", "tokenize"]), (of_held_out, ["tokenize"])):
        stages = [
            stage for kind in ("tokenizer", "tokenize") for stage in stages_of(kind, pretrain=run)
        ]
        marked = [stage.kind for stage in stages if "near_duplicates" in stage.spec]
        assert marked == (kinds if step == "deduplicate_near" else [])


def test_ablations_of_held_out_text_change_nothing() -> None:
    clean, spoiled = (
        stages_of(
            "tokenize", pretrain=BASE["pretrain"] | {"held_out": {"source": "microworld", **more}}
        )
        for more in ({}, {"steps": ["noise"]})
    )
    assert [stage.key for stage in clean] == [stage.key for stage in spoiled]


def test_texts_that_are_removed_from_held_out_text_identify_it() -> None:
    """Beside those that are removed from the corpus."""

    def without(*suites: str) -> dict[str, Any]:
        return {
            "source": "microworld",
            "steps": [{"kind": "decontaminate", "suite": suite} for suite in suites],
        }

    first, second = "micro-glue-v1", "micro-mt-v1"
    for corpus, held_out in (((), (first,)), ((first,), ()), ((first,), (second,))):
        run = BASE["pretrain"] | {"corpus": without(*corpus), "held_out": without(*held_out)}
        (stage,) = stages_of("tokenize", pretrain=run)
        removed = {suite: evaluation_fingerprints(suite) for suite in {*corpus, *held_out}}
        assert stage.spec["evaluation"] == removed


@pytest.mark.parametrize(("word", "is_marked"), [("Mr.", True), ("New York", True), ("he", False)])
def test_text_in_which_phrases_were_not_interchanged_has_other_keys(
    word: str, is_marked: bool
) -> None:
    step = {"kind": "interchange", "words": [word, "she"]}
    corpus = {"source": "microworld", "steps": [step]}
    for kind, has_ablations in (("tokenizer", False), ("tokenize", True)):
        (stage,) = stages_of(kind, pretrain=BASE["pretrain"] | {"corpus": corpus})
        assert ("interchanged" in stage.spec) is (is_marked and has_ablations)


@pytest.mark.parametrize("recipe", ["skipgram", "cbow", "glove", "bert"])
@pytest.mark.parametrize("algorithm", ["word", "wordpiece"])
def test_word_vectors_that_learned_unknown_words_have_other_keys(
    recipe: str, algorithm: str
) -> None:
    """Of windows over whole words; the keys of all other runs are as before."""
    run = BASE["pretrain"] | {"recipe": recipe, "tokenizer": {"algorithm": algorithm}}
    (stage,) = stages_of("pretrain", pretrain=run, evaluate={"tasks": ["micro-sst2"]})
    of_windows = recipe in ("skipgram", "cbow") and algorithm == "word"
    assert ("unknown_words" in stage.spec) is of_windows
    before = {name: one for name, one in stage.spec.items() if name != "unknown_words"}
    assert (stage_key("pretrain", before, stage.parents) != stage.key) is of_windows


def test_attention_that_was_learned_without_positions_has_another_key() -> None:
    """Of a T5, as student or as teacher; the keys of all other runs are as before."""
    taught, t5 = RECIPES["tinybert"], {"model": MODELS["t5"]}
    assert taught.teacher
    for part in (t5, {"teacher": taught.teacher.model_copy(update=t5)}):
        found = pretraining_repairs(taught.model_copy(update=part))
        assert found == {"attention": "with positions"}
    assert all(pretraining_repairs(one) == {} for one in (taught, RECIPES["t5"]))


def test_precision_changes_the_key_and_hardware_does_not() -> None:
    assert pretrain_keys().isdisjoint(pretrain_keys(compute={"precision": "bf16-mixed"}))
    assert pretrain_keys() == pretrain_keys(compute={"micro_batch_tokens": 64, "compile": True})


def test_the_precision_is_in_the_keys_of_training_alone() -> None:
    both = [planned(compute={"precision": one}).stages for one in ("32-true", "bf16-mixed")]
    kinds = [Counter(one.kind for one in stages.values()) for stages in both]
    assert kinds[0] == kinds[1]
    same = {both[0][key].kind for key in both[0].keys() & both[1].keys()}
    assert same == {"tokenizer", "tokenize"}  # a probe has a trained network for a parent
    reduced = {one.kind for one in both[1].values() if "precision" in one.spec}
    assert reduced == {"pretrain", "finetune"}


def test_prompts_have_no_precision() -> None:
    prompted = {"compute": {"precision": "bf16-mixed"}}
    evaluate = {"tasks": ["micro-cola"], "adaptation": "prompt"}
    stages = planned(**prompted, pretrain=BASE["pretrain"] | {"recipe": "gpt2"}, evaluate=evaluate)
    (one,) = [stage for stage in stages.stages.values() if stage.kind == "finetune"]
    assert "precision" not in one.spec


def test_changes_without_effect_keep_the_key() -> None:
    renamed = pretrain_keys(name="y", question="why?", source="me", sweep={"trials": 0})
    assert renamed == pretrain_keys()
    assert pretrain_keys(evaluate={"tasks": ["micro-cola"]}) == pretrain_keys()


def test_keys_depend_on_local_text_and_not_on_its_path(tmp_path: Path) -> None:
    def keys(name: str, text: str) -> set[str]:
        path = tmp_path / name
        path.write_text(text)
        corpus = {"source": "text", "path": str(path)}
        return pretrain_keys(pretrain=BASE["pretrain"] | {"corpus": corpus})

    first = keys("a.txt", "One. Two.\n\nThree. Four.")
    assert keys("b.txt", "One. Two.\n\nThree. Four.") == first
    assert keys("a.txt", "One. Two.\n\nThree. Five.") != first


def test_sources_in_another_order_are_another_text() -> None:
    first, second = ({"source": "microworld", "seed": seed} for seed in (0, 1))
    sources = {"first": first, "second": second}
    mixed = {"source": "mixture", "order": "sequence", "sources": sources}
    turned = mixed | {"sources": dict(reversed(sources.items()))}
    orders = {
        "up": {"pretrain.corpus": mixed, "pretrain.batch_size": 8},
        "down": {"pretrain.corpus": turned, "pretrain.batch_size": 16},
    }
    plan = planned(grid={"order": orders})
    assert kinds(plan)["tokenize"] == 2
    alone = planned(grid={"order": {"down": orders["down"]}})
    assert alone.pretrain_keys["down", 0] == plan.pretrain_keys["down", 0]
    assert differing_fields(plan.arms)["pretrain.corpus.sources"] == {
        "up": ["first", "second"],
        "down": ["second", "first"],
    }


def test_a_missing_corpus_is_bad_input(tmp_path: Path) -> None:
    corpus = {"source": "text", "path": str(tmp_path / "nothing.txt")}
    with pytest.raises(ValueError, match=r"nothing\.txt"):
        planned(pretrain=BASE["pretrain"] | {"corpus": corpus})


def test_keys_do_not_depend_on_the_order_of_fields() -> None:
    one = stage_key("tune", {"a": 1, "b": {"c": 2, "d": 3}}, {"pretrain": "k"})
    assert one == stage_key("tune", {"b": {"d": 3, "c": 2}, "a": 1}, {"pretrain": "k"})


def test_differences_are_declared_or_follow_from_the_recipe() -> None:
    plan = planned(grid={"recipe": {n: {"pretrain.recipe": n} for n in ("bert", "roberta")}})
    assert "pretrain.recipe" in plan.declared
    assert plan.differences["pretrain.objective.sentence_pair"] == {
        "bert": "nsp",
        "roberta": "none",
    }
    assert "pretrain.objective.sentence_pair" not in plan.declared
    assert "pretrain.size" not in "".join(plan.differences)


def test_one_axis_differs_in_one_field() -> None:
    plan = planned(grid={"pretrain.objective.transform.mask_rate": [0.15, 0.3]})
    assert set(plan.differences) == set(plan.declared) == {"pretrain.objective.transform.mask_rate"}
    assert [arm.name for arm in plan.arms] == ["mask_rate=0.15", "mask_rate=0.3"]


def test_an_undeclared_difference_breaks_the_contract() -> None:
    arms = planned(grid={"pretrain.objective.transform.mask_rate": [0.15, 0.3]}).arms
    changed = arms[1].pretrain.model_copy(update={"batch_size": 3})
    undeclared = [
        arms[0],
        type(arms[1])(arms[1].name, {}, arms[1].changes, changed, arms[1].evaluate),
    ]
    assert "pretrain.batch_size" in differing_fields(undeclared)
    with pytest.raises(ValueError, match=r"differ in pretrain\.batch_size"):
        make_plan(Declaration(Experiment.model_validate(BASE), tuple(undeclared)))


@pytest.mark.parametrize("budget", [{"steps": 500}, {"flops": 1e12}])
def test_a_control_arm_without_tokens_is_declared_beside_any_unit(budget: dict[str, Any]) -> None:
    plan = planned(
        pretrain=BASE["pretrain"] | {"budget": budget},
        grid={"arm": {"trained": {}, "scratch": {"pretrain.budget.tokens": 0}}},
    )
    assert plan.declared == {f"pretrain.budget.{unit}" for unit in ("tokens", *budget)}


def test_scratch_costs_nothing() -> None:
    plan = planned(pretrain=BASE["pretrain"] | {"budget": {"tokens": 0}})
    (cost,) = plan.costs.values()
    assert (cost.steps, cost.tokens, cost.flops) == (0, 0, 0)


def test_a_budget_in_seconds_leaves_the_cost_unknown() -> None:
    plan = planned(pretrain=BASE["pretrain"] | {"budget": {"seconds": 60}})
    (cost,) = plan.costs.values()
    assert (cost.steps, cost.tokens, cost.flops) == (None, None, None)


def test_equal_flops_buy_unequal_updates() -> None:
    plan = planned(
        pretrain=BASE["pretrain"] | {"budget": {"flops": 1e13}},
        grid={"pretrain.size": ["nano", "tiny"]},
    )
    steps, flops = (
        {arm: getattr(cost, name) for arm, cost in plan.costs.items()}
        for name in ("steps", "flops")
    )
    assert steps["nano"] > 2 * steps["tiny"]
    assert all(1e13 * (1 - 1 / steps[arm]) < flops[arm] <= 1e13 for arm in steps)


def test_intermediate_checkpoints_are_fine_tuned_with_the_final_settings() -> None:
    plan = planned(
        pretrain=BASE["pretrain"] | {"checkpoint_fractions": [0.1, 0.5]},
        sweep={"trials": 2, "space": {"learning_rate": [1e-3, 1e-4]}},
    )
    by_share = {run.pretrain_fraction: plan.stages[run.key] for run in plan.finetune_runs}
    assert list(by_share) == [0.1, 0.5, 1.0]
    assert len({stage.parents["pretrain"] for stage in by_share.values()}) == 1
    assert len({stage.parents["tune"] for stage in by_share.values()}) == 1
    assert "pretrain_fraction" not in by_share[1.0].spec


def test_intermediate_checkpoints_are_probed() -> None:
    pretrain = BASE["pretrain"] | {"checkpoint_fractions": [0.1, 0.5]}
    plan = planned(pretrain=pretrain, evaluate=BASE["evaluate"] | {"probes": ["micro-cloze"]})
    specs = {run.pretrain_fraction: plan.stages[run.key].spec for run in plan.probe_runs}
    assert [spec.get("pretrain_fraction") for spec in specs.values()] == [0.1, 0.5, None]
    assert list(specs) == [0.1, 0.5, 1.0]


def test_teacher_and_init_from_are_separate_stages() -> None:
    pretrain = BASE["pretrain"] | {
        "packing": {"format": "full_sentences"},
        "teacher": {"recipe": "bert", "size": "tiny", "objective": OBJECTIVES["mlm"].model_dump()},
        "init_from": {"objective": OBJECTIVES["mlm"].model_dump(), "budget": {"steps": 3}},
    }
    pretrain["objective"] = OBJECTIVES["mlm"].model_dump() | {"distillation": {"cosine_weight": 0}}
    pretrain["init_from"]["objective"]["distillation"] = None
    plan = planned(pretrain=pretrain)
    stages = [stage for stage in plan.stages.values() if stage.kind == "pretrain"]
    assert len(stages) == 3
    assert set(stages[-1].parents) == {"tokenizer", "tokens", "teacher", "init_from"}
    assert stages[-1].spec["pretrain"]["teacher"]["size"]["num_layers"] == 2


def test_keys_depend_on_the_content_of_word_vectors(tmp_path: Path) -> None:
    file = tmp_path / "glove.txt"
    static = {"model": {"family": "static", "vectors": str(file)}, "objective": "cbow"}
    static |= {"packing": {"format": "full_sentences"}, "budget": {"tokens": 0}}
    keys = []
    for text in ("the 0.1\n", "the 0.2\n", "the 0.1\n"):
        file.write_text(text)
        keys.append(pretrain_keys(pretrain=BASE["pretrain"] | static))
    assert keys[0] == keys[2] != keys[1]


CAUSAL = {
    "corpus": {"source": "microworld"},
    "budget": {"tokens": 50_000},
    "objective": "clm",
}


@pytest.mark.parametrize("how", [{"multitask": {}}, {"sequential": True}])
def test_multitask_after_continued_pretraining(how: dict[str, Any]) -> None:
    """A bidirectional model cannot generate answers, but after causal pretraining it can."""
    evaluate = BASE["evaluate"] | {"protocol": {"answer": "text"}} | how
    continued = evaluate | {"continued_pretraining": [CAUSAL], "tasks": ["micro-sst2", "micro-rte"]}
    stages = stages_of("train_tasks", evaluate=continued)
    assert {task["task"] for stage in stages for task in stage.spec["tasks"]} == {
        "micro-sst2",
        "micro-rte",
    }
    assert not planned(evaluate=continued).unsupported
    assert not stages_of("train_tasks", evaluate=evaluate)


def test_the_cost_of_an_intermediate_task_uses_its_epochs() -> None:
    def flops(settings: dict[str, Any] | None) -> float:
        one = {"task": "micro-mnli", "finetune": settings}
        (stage,) = stages_of(
            "train_tasks", evaluate=BASE["evaluate"] | {"intermediate_tasks": [one]}
        )
        return stage.flops

    assert flops({"epochs": 12}) == pytest.approx(2 * flops({"epochs": 6}))
    assert flops(None) == flops({"epochs": 6})  # the default of the size


def test_the_protocol_names_what_an_arm_leaves_out() -> None:
    two = ["micro-blimp", "micro-cloze"]
    arms = {"base": {}, "none": {"evaluate.probes": []}, "two": {"evaluate.probes": two}}
    evaluate = BASE["evaluate"] | {"probes": two[:1]}
    lines = protocol_of(planned(evaluate=evaluate, grid={"probes": arms}))
    assert lines["except none"] == "probes none"
    assert lines["except two"] == "probes micro-blimp, micro-cloze"
