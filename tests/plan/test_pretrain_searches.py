"""Searches of pretraining settings in plans, and end to end."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.analysis.frames.pretrain_trials import pretrain_trials_frame
from harness.exchange.checkpoints.card_data import recorded_run
from harness.exchange.checkpoints.selection import of_experiment
from harness.experiment.declaration import from_data
from harness.experiment.source import DeclarationError
from harness.finetuning.search.pretrain_search import TUNING_SEED
from harness.plan.checks.pretraining import shared_learning_rates, unfit_learning_rate
from harness.plan.factory import make_plan
from harness.plan.keys import stage_key
from harness.plan.plan import Plan
from harness.report.search_checks import (
    selected_by_reported_losses,
    unsearched_pretraining,
    untuned_pretraining,
)
from harness.report.search_edges import can_be_inside_pretraining, edges_of_pretraining
from harness.report.sections.pretrain_search import pretrain_search_section
from harness.report.sections.total_cost import TRIALS_NOTE, total_cost_section
from harness.study import Study

EXPERIMENT: dict[str, Any] = {
    "name": "tuned",
    "question": "Which learning rate is best?",
    "pretrain": {
        "recipe": "roberta",
        "size": {"num_layers": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32},
        "corpus": {"source": "microworld", "num_tokens": 20_000},
        "tokenizer": {"vocab_size": 300},
        "phases": [{"fraction": 1, "sequence_length": 32}],
        "batch_size": 4,
        "budget": {"steps": 40},
    },
    "grid": {"pretrain.budget.steps": [0, 40]},
    "seeds": {"pretrain": 2, "finetune": 1},
    "evaluate": {
        "tasks": ["micro-sst2"],
        "protocol": {"max_train_examples": 16, "max_sequence_length": 32},
        "finetune": {"epochs": 1},
    },
}
RATES = {"optimizer.learning_rate": [1e-7, 1e-2]}


def declared(search: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    found = {"trials": 2, "space": RATES, "budget_fraction": 0.5} | (search or {})
    return EXPERIMENT | {"sweep": {"pretrain": found}} | fields


def plan(search: dict[str, Any] | None = None, **fields: Any) -> Plan:
    return make_plan(from_data(declared(search, **fields)))


def kinds(one: Plan, kind: str) -> list[Any]:
    return [stage for stage in one.stages.values() if stage.kind == kind]


def test_every_seed_has_the_settings_of_one_search() -> None:
    found = plan()
    trials, (select,) = kinds(found, "pretrain_trial"), kinds(found, "tune_pretraining")
    assert len(trials) == 2 and {*select.parents.values()} == {one.key for one in trials}
    assert {one.spec["seed"] for one in trials} == {TUNING_SEED}
    assert {one.spec["pretrain"]["budget"]["steps"] for one in trials} == {20}
    runs = [one for one in kinds(found, "pretrain") if "chosen" in one.parents]
    assert [one.spec["seed"] for one in runs] == [0, 1]
    assert found.pretrain_searches == {"steps=40": select.key}
    assert sum(one.flops for one in trials) == pytest.approx(runs[0].flops)


def test_without_a_search_keys_are_as_before() -> None:
    whole = make_plan(from_data(EXPERIMENT))
    assert not {"pretrain_trial", "tune_pretraining"} & {s.kind for s in whole.stages.values()}
    untrained = {one.key for one in kinds(whole, "pretrain") if not one.flops}
    assert untrained <= plan().stages.keys()  # the arm without pretraining has nothing to tune
    tuned = {"trials": 2, "space": {"learning_rate": [1e-3, 1e-2]}}
    only = make_plan(from_data(EXPERIMENT | {"sweep": tuned}))
    both = make_plan(from_data(declared() | {"sweep": {**tuned, **declared()["sweep"]}}))
    of_untrained = [one.key for one in kinds(only, "tune") if "steps=0" in one.label]
    assert of_untrained and {*of_untrained} <= both.stages.keys()


@pytest.mark.parametrize("family", ["elmo", "two_way_gpt2", "roberta"])
def test_trials_that_were_selected_by_one_direction_have_other_keys(family: str) -> None:
    """Of two; those of other networks are as before."""
    is_bilm = family != "roberta"
    change = {"model": {"family": family}, "objective": "bilm"} if is_bilm else {}
    found = plan(pretrain=EXPERIMENT["pretrain"] | change, grid={})
    trials, (run,) = kinds(found, "pretrain_trial"), kinds(found, "pretrain")[:1]
    assert len(trials) == 2 and "selected_by" not in run.spec
    for one in trials:
        before = {name: value for name, value in one.spec.items() if name != "selected_by"}
        assert (stage_key(one.kind, before, one.parents) != one.key) is is_bilm


def test_a_longer_search_keeps_its_trials_and_arms_share_them() -> None:
    rates = {"optimizer.learning_rate": {"low": 1e-4, "high": 1e-2, "log": True}}
    short, long = plan({"space": rates}), plan({"space": rates, "trials": 5})
    keys = {one.key for one in kinds(short, "pretrain_trial")}
    assert keys < {one.key for one in kinds(long, "pretrain_trial")}
    grid = {"pretrain.checkpoint_fractions": [[], [0.5]]}
    alike = plan(grid=grid)
    assert len(kinds(alike, "pretrain_trial")) == 2 and len(alike.pretrain_searches) == 2


OWN_RATES = {"adamw": {"learning_rate": [1e-3, 2e-3]}, "adafactor": {"learning_rate": [0.01, 0.03]}}
KINDS = {"pretrain.optimizer.kind": ["adamw", "adafactor"]}


def test_one_space_of_learning_rates_for_unlike_optimizers_is_a_warning() -> None:
    (line,) = shared_learning_rates(plan(grid=KINDS))
    assert line.startswith("adamw, adafactor: one space of optimizer.learning_rate is searched ")
    assert "for adamw and adafactor, whose rates do not compare" in line
    alike = {"pretrain.optimizer.kind": ["adamw", "stable_adamw"]}
    assert not [*shared_learning_rates(plan(grid=alike))]
    other = {"space": {"batch_size": [16, 32]}}
    assert not [*shared_learning_rates(plan(other, grid=KINDS))]


def test_arms_search_the_space_of_their_optimizer() -> None:
    """With the stages that they have where it is the space of all."""
    found = plan({"space": {}, "optimizers": OWN_RATES}, grid=KINDS)
    for kind, own in OWN_RATES.items():
        space = {"optimizer.learning_rate": own["learning_rate"]}
        alone = plan({"space": space}, grid={"pretrain.optimizer.kind": [kind]})
        assert alone.stages.keys() < found.stages.keys()
    assert not [*unfit_learning_rate(found)]
    assert not [*shared_learning_rates(found)]
    recipes = {"pretrain.recipe": ["gpt2", "skipgram"], "pretrain.optimizer.kind": ["adafactor"]}
    of_vectors = plan({"space": {}, "optimizers": OWN_RATES}, grid=recipes)  # no search applies
    assert all(line.startswith("skipgram") for line in unfit_learning_rate(of_vectors))
    assert [*unfit_learning_rate(of_vectors)]
    assert found.differences["pretrain.optimizer.learning_rate"] == {
        "adamw": "searched (0.001 or 0.002)",
        "adafactor": "searched (0.01 or 0.03)",
    }


def test_the_chosen_rate_on_the_edge_is_that_of_the_optimizer(tmp_path: Path) -> None:
    rates = {"adamw": [1e-7, 1e-6, 1e-2], "adafactor": [1e-7, 1.0, 1e3]}
    own = {kind: {"learning_rate": found} for kind, found in rates.items()}
    own["adamw"] |= {"beta1": [0.85, 0.9]}
    own["adafactor"] |= {"weight_decay": [0.0, 0.01]}
    fields = declared({"trials": 6, "space": {}, "optimizers": own}, grid=KINDS)
    study = Study.declare(fields, store=tmp_path).run(executor="serial")
    section = pretrain_search_section(study.results)
    assert section
    (table,) = section.tables.values()
    rate, beta, decay = (table.head.index(f"optimizer.{name}") for name in NAMES)
    adamw, adafactor = table.rows
    assert (adamw[rate], adafactor[rate]) == ("0.01*", "1")
    assert adamw[beta] != "–" and (adamw[decay], adafactor[beta]) == ("–", "–")
    (sentence,) = edges_of_pretraining(study.results)
    assert can_be_inside_pretraining(study.results)
    assert sentence.endswith("adamw optimizer.learning_rate 0.01.")


NAMES = ("learning_rate", "beta1", "weight_decay")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            declared({"space": {}, "optimizers": {"adafactor": OWN_RATES["adafactor"]}}),
            r"must have a space for adamw, the optimizer of 'steps=40', but has adafactor",
        ),
        (
            declared(
                {"space": {}, "optimizers": OWN_RATES},
                grid={"pretrain.optimizer.learning_rate": [1e-3, 1e-2]},
            ),
            "pretrain.optimizer.learning_rate has no effect: the sweep searches optimizer.learning",
        ),
        (
            declared(grid={"pretrain.optimizer.learning_rate": [1e-3, 1e-2]}),
            "pretrain.optimizer.learning_rate has no effect: the sweep searches optimizer.learning",
        ),
        (declared({"space": {"schedule.decay_fraction": [0.1, 0.2]}}), "cannot be tried: decay_fr"),
        (declared(grid={"pretrain.budget.steps": [0]}), "sweep.pretrain: no arm is pretrained"),
    ],
)
def test_searches_that_do_not_fit_the_arms(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        from_data(fields)
    with pytest.raises(DeclarationError, match="has no effect"):
        from_data(declared(), ["pretrain.optimizer.learning_rate=1e-3"])


def test_a_searched_setting_is_refused_beside_intermediate_tasks_too() -> None:
    evaluate = {**EXPERIMENT["evaluate"], "intermediate_tasks": ["micro-rte"]}
    with pytest.raises(DeclarationError, match=r"optimizer\.learning_rate has no effect"):
        from_data(declared(evaluate=evaluate), ["pretrain.optimizer.learning_rate=1e-3"])


def test_arms_that_are_not_searched_may_have_a_setting_of_their_own() -> None:
    own = {"pretrain.recipe": "cbow", "pretrain.optimizer.learning_rate": 0.05}
    grid: dict[str, Any] = {"how": {"searched": {"pretrain.batch_size": 8}, "static": own}}
    arms = {arm.name: arm for arm in plan(grid=grid).arms}
    assert arms["static"].pretrain.optimizer.learning_rate == 0.05
    grid["how"]["searched"] |= {"pretrain.optimizer": {"learning_rate": 1e-3}}
    with pytest.raises(DeclarationError, match=r"learning_rate has no effect.*arm 'searched'"):
        plan(grid=grid)


def test_trials_count_for_the_size_of_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.experiment.checks.size.MAX_RUNS", 7)
    with pytest.raises(DeclarationError, match=r"at most 7 .* has 8: .* 2 of pretraining"):
        from_data(declared())  # 2 arms with 2 runs and 2 trials


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return Study.declare(declared(), store=tmp_path_factory.mktemp("runs")).run(executor="serial")


def losses(study: Study, arm: str) -> list[float]:
    return [
        float(study.results.finished[key].metrics["validation_loss"] or "nan")
        for (name, _), key in study.plan.pretrain_keys.items()
        if name == arm
    ]


def test_the_better_rate_is_found_and_used(study: Study, tmp_path: Path) -> None:
    """A rate at which nothing is learned, and one at which something is."""
    trials = study.results.get(pretrain_trials_frame)
    assert trials["arm"].tolist() == ["steps=40"] * 2
    chosen = trials[trials["chosen"]].iloc[0]
    assert chosen["optimizer.learning_rate"] == 1e-2 and chosen["loss"] == trials["loss"].min()
    rates = EXPERIMENT["pretrain"] | {"optimizer": {"learning_rate": 1e-2}}
    direct = EXPERIMENT | {"pretrain": rates}
    same = Study.declare(direct, store=tmp_path).run(executor="serial")
    assert losses(study, "steps=40") == losses(same, "steps=40")  # as if it had been declared
    pd.testing.assert_frame_equal(
        study.scores().drop(columns="key"), same.scores().drop(columns="key")
    )


def test_a_trial_equals_a_run_of_its_settings(study: Study, tmp_path: Path) -> None:
    pretrain = EXPERIMENT["pretrain"] | {
        "budget": {"steps": 20},
        "optimizer": {"learning_rate": 1e-2},
    }
    seeds = {"pretrain": [TUNING_SEED], "finetune": 1}
    run = Study.declare(
        EXPERIMENT | {"pretrain": pretrain, "grid": {}, "seeds": seeds}, store=tmp_path
    ).run(executor="serial")
    trials = study.results.get(pretrain_trials_frame)
    assert trials.loc[trials["chosen"], "loss"].tolist() == losses(run, "tuned")


def test_arms_that_share_a_run_have_no_better_settings_each(tmp_path: Path) -> None:
    shared = EXPERIMENT | {"sweep": {}, "grid": {"evaluate.finetune.epochs": [1, 2]}}
    assert not [*untuned_pretraining(Study.declare(shared, store=tmp_path).results)]
    own = shared | {"grid": {"pretrain.batch_size": [8, 16]}}
    (sentence,) = untuned_pretraining(Study.declare(own, store=tmp_path).results)
    assert "were not tuned for any arm" in sentence


def test_the_report_has_the_chosen_settings(study: Study) -> None:
    section = pretrain_search_section(study.results)
    assert section and "2 grid trials of 50 % of the budget" in section.notes[0]
    (table,) = section.tables.values()
    assert table.head[:2] == ["arm", "optimizer.learning_rate"] and table.rows[0][1] == "0.01"
    (trials,) = section.folded.values()
    assert len(trials.rows) == 2
    assert not [*untuned_pretraining(study.results)]
    assert not [*edges_of_pretraining(study.results)]  # two choices have no inner one
    assert not can_be_inside_pretraining(study.results), "nothing is said of edges"
    assert TRIALS_NOTE in total_cost_section(study.results).notes
    assert not [*unsearched_pretraining(study.results)]
    (sentence,) = selected_by_reported_losses(study.results)
    assert "on the held-out text." in sentence  # of the only world


def test_arms_without_a_held_out_loss_of_tokens_are_named_as_not_searched(tmp_path: Path) -> None:
    teacher = {"pretrain.teacher.size": EXPERIMENT["pretrain"]["size"] | {"num_layers": 2}}
    arms = {name: {"pretrain.recipe": name} for name in ("roberta", "cbow")}
    students = ("distilbert", "tinybert", "minilm")
    arms |= {name: {"pretrain.recipe": name} | teacher for name in students}
    study = Study.declare(declared(grid={"arm": arms}), store=tmp_path)
    assert [*study.plan.pretrain_searches] == ["roberta", "distilbert"]
    search, arms_of_plan = study.experiment.sweep.pretrain, study.plan.arms
    assert search and " for every searched arm: " in search.line(a.pretrain for a in arms_of_plan)
    others = (a.pretrain for a in arms_of_plan if a.name in study.plan.pretrain_searches)
    assert " for every pretrained arm: " in search.line(others)
    (sentence,) = unsearched_pretraining(study.results)
    assert sentence.endswith("not for cbow, tinybert, minilm.")


def test_losses_of_the_world_of_the_search_are_named(tmp_path: Path) -> None:
    seeds = {"pretrain": 2, "finetune": 1, "world": "per_seed"}
    study = Study.declare(declared(seeds=seeds), store=tmp_path)
    (sentence,) = selected_by_reported_losses(study.results)
    assert "on the held-out text of world 0. The reported loss of seed 0 is" in sentence
    assert "losses in other worlds" in sentence


def test_plans_and_model_cards_do_not_show_the_declared_setting(study: Study) -> None:
    assert study.plan.differences.keys() == {"pretrain.budget.steps"}
    rates = EXPERIMENT["pretrain"] | {"optimizer": {"learning_rate": 0.5}}
    grid = {"pretrain.recipe": ["roberta", "gpt2"]}  # whose recipes differ in the learning rate
    searched = plan(pretrain=rates, grid=grid).differences
    assert searched and "pretrain.optimizer.learning_rate" not in searched
    model = of_experiment(study.results, "steps=40", 1)
    assert model.card.run.optimizer.learning_rate == 1e-2
    key = study.plan.pretrain_keys["steps=40", 1]
    record = study.results.finished[key]
    assert recorded_run(record, study.results.store).optimizer.learning_rate == 1e-2


def test_a_diverged_trial_is_not_chosen(tmp_path: Path) -> None:
    space = {"optimizer.learning_rate": [1e-3, 1e30], "optimizer.max_grad_norm": [0.0, 1e9]}
    search = {"space": space, "trials": 4}
    found = Study.declare(declared(search, seeds={"pretrain": 1, "finetune": 1}), store=tmp_path)
    trials = found.run(executor="serial").results.get(pretrain_trials_frame)
    wild = trials["optimizer.learning_rate"] == 1e30
    assert trials.loc[wild, "loss"].isna().any() and trials.loc[~wild, "loss"].notna().all()
    (key,) = found.plan.pretrain_searches.values()
    best = json.loads((found.results.files(key) / "best.json").read_text())
    assert best["optimizer.learning_rate"] == 1e-3
