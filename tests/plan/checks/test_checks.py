"""Warnings of plans: each check on a plan that it is about, and on one that it is not about."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.data.corpora.mixing import split_corpus
from harness.data.corpora.sources import MixedCorpus
from harness.experiment.arms import combinations, resolve_arm
from harness.experiment.declaration import Declaration
from harness.experiment.experiment import Experiment
from harness.plan.checks import CHECKS, plan_warnings
from harness.plan.checks.adafactor import capped_learning_rate
from harness.plan.corpora import corpus_lines
from harness.plan.costs import pretraining_cost
from harness.plan.factory import load_plan, make_plan
from harness.plan.learned_vocabularies import (
    TRAIN_TOKENS,
    VOCAB_SIZE,
    with_learned_vocabularies,
)
from harness.plan.plan import Plan
from tests.paths import ROOT

PRETRAIN: dict[str, Any] = {
    "size": "nano",
    "corpus": "microworld",
    "tokenizer": {"vocab_size": 1_500},
    "phases": [{"fraction": 1, "sequence_length": 128}],
    "batch_size": 16,
    "budget": {"steps": 500},
}


def planned(pretrain: Any = None, **fields: Any) -> Plan:
    base = {"name": "x", "question": "which?", "evaluate": {"tasks": ["micro-sst2"]}}
    values = base | {"pretrain": PRETRAIN | (pretrain or {})} | fields
    experiment = Experiment.model_validate(values)
    arms = [resolve_arm(experiment, *picked) for picked in combinations(experiment.grid)]
    return make_plan(Declaration(experiment, tuple(arms)))


def found(check: str, plan: Plan) -> list[str]:
    return list(CHECKS[check](plan))


def test_the_shipped_quickstart_has_no_warning() -> None:
    assert plan_warnings(load_plan(ROOT / "experiments" / "quickstart.yaml")) == []


def test_few_updates_with_the_batch_size_and_the_budget_that_give_more() -> None:
    tokens = 47 * 256 * 128
    plan = planned({"batch_size": 256, "budget": {"tokens": tokens}})
    (line,) = found("few_updates", plan)
    assert line.startswith("x: 47 pretraining updates are fewer than 500")
    assert "lower pretrain.batch_size from 256 to 16" in line
    assert f"raise pretrain.budget.tokens to {tokens * 500 / 47:,.0f} or more" in line
    enough = planned({"batch_size": 16, "budget": {"tokens": tokens}})
    assert plan.costs["x"].steps == 47 and (enough.costs["x"].steps or 0) >= 500
    assert found("few_updates", enough) == []
    (few,) = found("few_updates", planned({"batch_size": 16, "budget": {"tokens": tokens // 16}}))
    assert "batch_size" not in few  # no batch would be large enough


@pytest.mark.parametrize(
    ("pretrain", "warned"),
    [
        ({"budget": {"steps": 499}}, True),
        ({"budget": {"steps": 500}}, False),
        ({"budget": {"steps": 0}}, False),  # the from-scratch control
        ({"budget": {"seconds": 1}}, False),  # of unknown updates
    ],
)
def test_few_updates_are_those_of_networks_that_are_trained(pretrain: Any, warned: bool) -> None:
    assert bool(found("few_updates", planned(pretrain))) == warned


def test_equal_arms_share_a_warning_and_what_they_build_on_is_checked() -> None:
    grid = {"pretrain.objective.transform.mask_rate": [0.15, 0.3]}
    (line,) = found("few_updates", planned({"budget": {"steps": 100}}, grid=grid))
    assert line.startswith("mask_rate=0.15, mask_rate=0.3: 100 pretraining updates")
    (line,) = found("few_updates", planned({"init_from": {"budget": {"steps": 100}}}))
    assert line.startswith("init_from of x: 100 pretraining updates")


@pytest.mark.parametrize(
    ("schedule", "warned"),
    [
        ({"warmup_fraction": 0.5}, False),
        ({"warmup_fraction": 0.51}, True),
        ({"warmup_steps": 251}, True),
        ({"warmup_steps": 500}, True),  # all of the run
        ({"warmup_steps": 251, "decay": "inverse_sqrt"}, False),
    ],
)
def test_a_warmup_that_is_longer_than_half(schedule: Any, warned: bool) -> None:
    lines = found("long_warmup", planned({"schedule": schedule}))
    assert bool(lines) == warned
    assert all(f"set pretrain.schedule.{name} to" in line for name in schedule for line in lines)


@pytest.mark.parametrize(
    ("optimizer", "warned"),
    [
        ({"kind": "adafactor", "learning_rate": 0.01}, False),
        ({"kind": "adafactor", "learning_rate": 0.3}, True),
        ({"kind": "adamw", "learning_rate": 0.3}, False),
    ],
)
def test_rates_that_adafactor_does_not_reach(optimizer: Any, warned: bool) -> None:
    plan = planned({"optimizer": optimizer, "budget": {"steps": 1000}})
    assert bool(found("capped_learning_rate", plan)) == warned


def test_of_searched_rates_the_highest_counts_until_one_is_chosen() -> None:
    space = {"optimizer.learning_rate": [0.01, 0.3]}
    pretrain = {"optimizer": {"kind": "adafactor"}, "budget": {"steps": 1000}}
    plan = planned(pretrain, sweep={"pretrain": {"trials": 2, "space": space}})
    (line,) = capped_learning_rate(plan)
    assert line.startswith("x: with a learning rate of 0.3, Adafactor has 1/sqrt(step), which is ")
    assert not [*capped_learning_rate(plan, {"x": 0.01})]
    (line,) = capped_learning_rate(plan, {"x": 0.2})
    assert "rate of 0.2," in line


@pytest.mark.parametrize(
    ("kind", "rate", "warned"),
    [
        ("lamb", 2e-3, True),  # the rate that the size nano implies
        ("lamb", 0.1, False),
        ("sgd", 2e-3, True),
        ("muon", 2e-3, False),
        ("stable_adamw", 2e-3, False),
        ("adamw", 2e-3, False),
        ("lamb", None, True),
        ("muon", None, False),
    ],
)
def test_a_learning_rate_of_another_optimizer(kind: str, rate: float | None, warned: bool) -> None:
    optimizer = {"kind": kind, **({"learning_rate": rate} if rate else {})}
    assert bool(found("unfit_learning_rate", planned({"optimizer": optimizer}))) == warned


def test_learning_rates_that_are_compared_are_not_warned_of() -> None:
    grid = {"pretrain.optimizer.kind": ["lamb"], "pretrain.optimizer.learning_rate": [2e-3, 8e-3]}
    base = {"name": "x", "question": "which?", "pretrain": {"size": "nano"}, "grid": grid}
    experiment = Experiment.model_validate(base)
    arms = tuple(resolve_arm(experiment, *picked) for picked in combinations(experiment.grid))
    assert found("unfit_learning_rate", make_plan(Declaration(experiment, arms))) == []


@pytest.mark.parametrize(("kind", "warned"), [("adafactor", False), ("adamw", True)])
def test_a_recipe_with_another_optimizer(kind: str, warned: bool) -> None:
    plan = planned({"recipe": "t5", "size": "small", "optimizer": {"kind": kind}})
    lines = found("unfit_learning_rate", plan)
    assert bool(lines) == warned
    assert not lines or "0.01 of the recipe t5 is that of adafactor" in lines[0]


def test_a_learned_vocabulary_counts_and_changes_no_stage() -> None:
    plan = planned()
    (tokenizer,) = [key for key, stage in plan.stages.items() if stage.kind == "tokenizer"]
    learned = with_learned_vocabularies(plan, {tokenizer: {VOCAB_SIZE: 973.0}})
    assert learned.vocab_sizes == {"x": 973}
    assert learned.stages == plan.stages
    smaller = pretraining_cost(planned({"tokenizer": {"vocab_size": 973}}).arms[0].pretrain)
    assert learned.costs["x"] == smaller
    (line,) = found("unfilled_vocabulary", learned)
    assert line.startswith("x: the corpus fills 973 of the 1,500 declared entries of wordpiece")
    assert found("unfilled_vocabulary", plan) == []
    full = with_learned_vocabularies(plan, {tokenizer: {VOCAB_SIZE: 1_490.0}})
    assert found("unfilled_vocabulary", full) == []


def test_of_several_worlds_the_vocabulary_of_the_first_is_named() -> None:
    run = {"recipe": "bert", "size": "nano", "corpus": "microworld"}
    seeds = {"pretrain": 2, "finetune": 1, "world": "per_seed"}
    experiment = Experiment.model_validate(
        {"name": "x", "question": "which?", "pretrain": run, "seeds": seeds}
    )
    plan = make_plan(Declaration(experiment, (resolve_arm(experiment, {}, {}),)))
    first, second = (key for key, stage in plan.stages.items() if stage.kind == "tokenizer")
    sizes = {first: {VOCAB_SIZE: 600.0}, second: {VOCAB_SIZE: 500.0}}
    (line,) = found("unfilled_vocabulary", with_learned_vocabularies(plan, sizes))
    assert line.startswith("x: the corpus of world 0 fills 600 of the ")


@pytest.mark.parametrize("recipe", ["bert", "roberta", "deberta_v3"])  # 906 entries: Unigram's
def test_what_the_micro_world_fills_of_its_default_vocabulary_is_enough(recipe: str) -> None:
    run = {"recipe": recipe, "size": "nano", "corpus": "microworld"}
    experiment = Experiment.model_validate({"name": "x", "question": "which?", "pretrain": run})
    plan = make_plan(Declaration(experiment, (resolve_arm(experiment, {}, {}),)))
    (tokenizer,) = [key for key, stage in plan.stages.items() if stage.kind == "tokenizer"]
    learned = with_learned_vocabularies(plan, {tokenizer: {VOCAB_SIZE: 906.0}})
    assert found("unfilled_vocabulary", learned) == []


def test_arms_of_several_schedules_share_a_warning_of_few_updates() -> None:
    grid = {"pretrain.schedule.decay": ["linear", "cosine"]}
    (line,) = found("few_updates", planned({"budget": {"steps": 100}}, grid=grid))
    assert line.startswith("linear, cosine: 100 pretraining updates are fewer than 500")


def own_corpus(folder: Path) -> dict[str, Any]:
    """Two files of 40 documents with 9,000 bytes, which are 2,000 tokens."""
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(("word " * 44 + "end.\n\n") * 20)
    return {"corpus": {"source": "text", "path": str(folder), "validation_fraction": 0.5}}


def test_the_size_of_an_own_corpus_and_the_passes_over_it(tmp_path: Path) -> None:
    text = own_corpus(tmp_path)
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    plan = planned(text | {"batch_size": 1, "budget": {"tokens": 2 * size}})
    (line,) = corpus_lines(plan)
    assert line.startswith(f"{tmp_path}: 2 files, 40 documents, 1,800 words, 0.01 MB, about ")
    assert line.endswith(
        f"about {size / 4.5 / 2:,.0f} tokens for training, read 18 times by the budget"
    )
    (warning,) = found("repeated_text", plan)
    assert warning.startswith("x: the budget reads the corpus about 18 times")
    assert warning.endswith("; take more text")  # fewer tokens would be too few
    (many,) = found("repeated_text", planned(text | {"batch_size": 1, "budget": {"steps": 9_000}}))
    assert "reads the corpus about 1,100 times, but" in many  # not 1.1e+03
    few = planned(text | {"batch_size": 1, "budget": {"tokens": size // 3}})
    assert found("repeated_text", few) == []
    (tokens,) = [key for key, stage in plan.stages.items() if stage.kind == "tokenize"]
    (tokenizer,) = [key for key, stage in plan.stages.items() if stage.kind == "tokenizer"]
    counts = {tokenizer: {VOCAB_SIZE: 99.0}, tokens: {TRAIN_TOKENS: float(size)}}
    known = with_learned_vocabularies(plan, counts)
    (line,) = corpus_lines(known)
    assert f"MB, {size:,} tokens for training, read 2 times" in line
    assert found("repeated_text", known) == [] and list(corpus_lines(planned())) == []


def test_the_micro_world_is_read_again_when_its_words_are_used_up() -> None:
    assert found("repeated_text", planned({"budget": {"tokens": 3_900_000}})) == []
    (line,) = found("repeated_text", planned({"budget": {"tokens": 4_100_000}}))
    assert line.endswith("; take more text, or lower pretrain.budget.tokens to 3,900,000")
    counts = planned({"recipe": "glove", "budget": {"tokens": 40_000_000}})
    assert found("repeated_text", counts) == [], "a budget of counts is none of text"


def test_the_micro_world_is_read_again_when_its_bytes_are_used_up() -> None:
    part = {"source": "microworld", "max_bytes": 450_000, "validation_fraction": 0.1}
    (line,) = found("repeated_text", planned({"corpus": part, "budget": {"tokens": 900_000}}))
    assert "reads the corpus about 10 times" in line
    unknown = part | {"max_bytes": None, "max_documents": 100}
    assert found("repeated_text", planned({"corpus": unknown, "budget": {"tokens": 10**7}})) == []


def test_updates_of_a_budget_in_flops_follow_from_the_declaration() -> None:
    plan = planned({"budget": {"flops": 1e11}})
    (tokenizer,) = [key for key, stage in plan.stages.items() if stage.kind == "tokenizer"]
    cost = with_learned_vocabularies(plan, {tokenizer: {VOCAB_SIZE: 973.0}}).costs["x"]
    before = plan.costs["x"]
    assert (cost.steps, cost.tokens) == (before.steps, before.tokens)
    assert cost.flops and before.flops and cost.flops < before.flops
    assert cost.parameters and before.parameters
    assert before.parameters - cost.parameters == (1_500 - 973) * 64


def own_task(folder: Path, texts: list[str]) -> dict[str, Any]:
    file = folder / "reviews.csv"
    file.write_text("text,label\n" + "".join(f'"{text}",{i % 2}\n' for i, text in enumerate(texts)))
    task = {
        "name": "reviews",
        "kind": "classification",
        "data": {"source": "csv", "files": {"train": str(file), "validation": str(file)}},
        "text_fields": ["text"],
        "label_field": "label",
        "labels": ["0", "1"],
        "metrics": ["accuracy"],
    }
    return {"suite": {"name": "own", "tasks": [task]}}


def test_long_texts_of_a_file_are_found_by_their_words(tmp_path: Path) -> None:
    texts = ["word " * 40] * 3 + ["word " * 10] * 17
    evaluate = own_task(tmp_path, texts) | {"protocol": {"max_sequence_length": 30}}
    phases = [{"fraction": 1, "sequence_length": 64}]
    (line,) = found("long_texts", planned({"phases": phases}, evaluate=evaluate))
    assert line.startswith("all arms: texts longer than evaluate.protocol.max_sequence_length (30)")
    assert "at least 15 % of reviews" in line
    evaluate["protocol"] = {"max_sequence_length": 64}
    assert found("long_texts", planned({"phases": phases}, evaluate=evaluate)) == []
    short = [{"fraction": 0.5, "sequence_length": 16}, {"fraction": 0.5, "sequence_length": 32}]
    (line,) = found("long_texts", planned({"phases": short}, evaluate=evaluate))
    assert "pretraining reads at most 32 tokens" in line and "15 % of reviews" in line
    relative = {"phases": short, "recipe": "llama"}  # no learned positions
    assert found("long_texts", planned(relative, evaluate=evaluate)) == []


@pytest.mark.parametrize(("length", "number", "fitting"), [(64, 8, 5), (64, 5, 0), (128, 8, 0)])
def test_demonstrations_that_do_not_fit(
    length: int, number: int, fitting: int, tmp_path: Path
) -> None:
    """Ten words each: six texts, of which one is the question, have 60."""
    evaluate = own_task(tmp_path, ["word " * 9 + "word"] * 20)
    prompt = {"pattern": "{text} so {answer}", "answers": ["good", "bad"]}
    evaluate["suite"]["tasks"][0]["prompt"] = prompt
    protocol = {"num_fewshot": number, "max_sequence_length": length}
    evaluate |= {"adaptation": "prompt", "protocol": protocol}
    lines = found("dropped_demonstrations", planned(evaluate=evaluate))
    assert bool(lines) == bool(fitting)
    for line in lines:
        assert line.startswith(
            f"x: of the {number} demonstrations of evaluate.protocol.num_fewshot"
        )
        assert f"({length}) have room for at most about {fitting} of reviews" in line


def test_more_demonstrations_than_train_examples(tmp_path: Path) -> None:
    evaluate = own_task(tmp_path, ["word"] * 20)
    prompt = {"pattern": "{text} so {answer}", "answers": ["good", "bad"]}
    evaluate["suite"]["tasks"][0] |= {"prompt": prompt, "train_size": 20}
    protocol = {"num_fewshot": 21, "max_sequence_length": 512}
    evaluate |= {"adaptation": "prompt", "protocol": protocol}
    (line,) = found("dropped_demonstrations", planned(evaluate=evaluate))
    assert line.startswith("x: evaluate.protocol.num_fewshot is 21, but the train examples are at")
    assert "at most 20 of reviews" in line
    protocol["num_fewshot"] = 20
    assert not found("dropped_demonstrations", planned(evaluate=evaluate))
    protocol["max_train_examples"] = 16
    (line,) = found("dropped_demonstrations", planned(evaluate=evaluate))
    assert "at most 16 of reviews" in line


def test_tasks_that_an_arm_cannot_do_are_named_with_the_reason() -> None:
    plan = replace(planned(), unsupported={("x", "micro-sst2"): "it has no text"})
    assert found("unsupported_tasks", plan) == ["x cannot do any task: it has no text"]


def test_missing_data_with_the_command_that_fetches_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants as constants

    monkeypatch.delenv("HARNESS_DATA", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    evaluate = {"suite": "glue-v1", "tasks": ["cola"]}
    plan = planned({"corpus": "wikitext2"}, evaluate=evaluate)
    (line,) = found("missing_data", plan)
    assert line.startswith("Salesforce/wikitext, cola: neither in HARNESS_DATA nor in the cache")
    command = "harness data fetch Salesforce/wikitext/wikitext-2-v1 nyu-mll/glue/cola"
    assert command in line
    for folder, path in (("Salesforce___wikitext", "wikitext-2-v1"), ("nyu-mll___glue", "cola")):
        prepared = tmp_path / "datasets" / folder / path / "0.0.0" / "abc"
        prepared.mkdir(parents=True)
        (prepared / "dataset_info.json").write_text("{}")
    assert found("missing_data", plan) == []
    assert found("missing_data", planned()) == []
    texts = {"held_out": "wikitext2", "tokenizer": {"corpus": "wikitext103"}}
    cleaned = {"source": "microworld", "steps": [{"kind": "decontaminate", "suite": "swag-v1"}]}
    (line,) = found("missing_data", planned(texts | {"corpus": cleaned}))
    assert line.startswith("Salesforce/wikitext, swag: neither")
    assert "harness data fetch Salesforce/wikitext/wikitext-103-v1 allenai/swag/regular," in line


SPACE = {"learning_rate": [1e-4, 1e-3], "epochs": [1, 2, 3]}


@pytest.mark.parametrize(
    ("sweep", "words"),
    [
        ({"trials": 5}, ""),
        ({"trials": 8, "sampler": "tpe"}, ""),
        ({"trials": 2, "sampler": "random"}, ""),
        ({"trials": 4, "sampler": "grid"}, "4 trials for a grid of 6 points"),
        ({"trials": 6, "sampler": "grid"}, ""),
        ({"trials": 9, "sampler": "grid"}, "9 trials for a grid of 6 points"),
        ({"trials": 0, "sampler": "tpe"}, ""),
    ],
)
def test_samplers_and_trials(sweep: Any, words: str) -> None:
    lines = found("unsuited_sampler", planned(sweep=sweep | {"space": SPACE}))
    assert len(lines) == bool(words) and words in " ".join(lines)


@pytest.mark.parametrize(
    ("trials", "sampler", "words"),
    [
        (2, "grid", "sweep.pretrain: 2 trials for a grid of 4 points, of which 2 are tried in ran"),
        (4, "grid", ""),
        (9, "grid", "set sweep.pretrain.trials to 4"),
        (4, "random", ""),
        (9, "random", "9 random trials of 4 points try some of them again, with equal results"),
    ],
)
def test_samplers_and_trials_of_pretraining(trials: int, sampler: str, words: str) -> None:
    space = {"batch_size": [8, 16], "optimizer.learning_rate": [1e-3, 2e-3]}
    search = {"trials": trials, "sampler": sampler, "space": space}
    lines = found("unsuited_sampler", planned(sweep={"pretrain": search}))
    assert len(lines) == bool(words) and words in " ".join(lines)


def test_a_pruner_without_enough_trials_is_found() -> None:
    sweep = {"trials": 5, "sampler": "tpe", "pruner": "median", "space": SPACE}
    (line,) = found("unsuited_sampler", planned(sweep=sweep))
    assert "prunes no trial before the 6th, but there are 5" in line


@pytest.mark.parametrize(
    ("pruner", "epochs", "words"),
    [
        ("median", 1, "the pruner median ends trials after an epoch, but all have a single one"),
        ("hyperband", 1, "all have a single one"),
        ("hyperband", 2, "with at most 2 epochs, hyperband has a single bracket"),
        ("hyperband", 3, ""),
        ("successive_halving", 2, ""),
    ],
)
def test_a_pruner_that_the_epochs_do_not_suit_is_found(
    pruner: str, epochs: int, words: str
) -> None:
    space = {"learning_rate": [1e-4, 1e-3], "epochs": [epochs]}
    sweep = {"trials": 12, "sampler": "tpe", "pruner": pruner, "space": space}
    lines = found("unsuited_sampler", planned(sweep=sweep))
    assert len(lines) == bool(words) and words in " ".join(lines)


@pytest.mark.parametrize(
    ("compute", "warned"),
    [
        ({"strategy": "fsdp"}, True),
        ({"strategy": "ddp", "devices": 1}, True),
        ({"strategy": "fsdp", "devices": 2}, False),
        ({"strategy": "fsdp", "devices": "auto"}, False),
        ({"strategy": "fsdp", "num_nodes": 2}, False),
        ({"devices": 1}, False),
    ],
)
def test_a_strategy_for_several_devices_with_one(compute: Any, warned: bool) -> None:
    assert bool(found("unused_strategy", planned(compute=compute))) == warned


def test_different_text_with_vocabularies_or_held_out_texts_that_differ_with_it() -> None:
    sizes = {"pretrain.corpus.num_tokens": [100_000, 200_000]}
    (line,) = found("unequal_text", planned(grid=sizes))
    assert "vocabularies (pretrain.tokenizer.corpus) and held-out texts" in line
    (line,) = found("unequal_text", planned({"held_out": "wikitext2"}, grid=sizes))
    assert "vocabularies" in line and "held-out" not in line
    fixed = {"held_out": "wikitext2", "tokenizer": {"corpus": "wikitext2", "vocab_size": 1_500}}
    assert not found("unequal_text", planned(fixed, grid=sizes))
    noisy = {"source": "microworld", "steps": ["noise"]}
    arms = {"arm": {"clean": {}, "noisy": {"pretrain.corpus": noisy}}}
    assert not found("unequal_text", planned(grid=arms))  # an ablation
    assert not found("unequal_text", planned(grid={"pretrain.batch_size": [8, 16]}))


def test_held_out_text_that_is_trained_on(tmp_path: Path) -> None:
    """The same file, source or part of a mixture; not another file, seed or split."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("One here.\n\nTwo there.\n")
    folder = {"source": "text", "path": str(tmp_path)}
    first, second = ({"source": "text", "path": str(tmp_path / f"{x}.txt")} for x in "ab")
    wiki = {"source": "hub", "path": "Salesforce/wikitext", "config": "wikitext-2-v1"}
    micro: dict[str, Any] = {"source": "microworld"}
    mixture = {"source": "mixture", "sources": {"micro": micro, "wiki": wiki}}

    def warned(corpus: Any, held_out: Any) -> bool:
        plan = planned({"corpus": corpus, "held_out": held_out})
        lines = found("trained_held_out", plan)
        assert all("pretrain.held_out is also text of pretrain.corpus" in line for line in lines)
        return bool(lines)

    assert warned(folder, first) and warned(first, folder)
    assert not warned(first, second)
    assert warned(micro, micro | {"num_tokens": 2_000, "steps": ["normalise"]})
    assert not warned(micro, micro | {"seed": 1})
    assert warned(mixture, micro) and warned(mixture, mixture)
    assert not warned(mixture, wiki | {"split": "validation"})
    assert not warned(micro, None)


def test_sources_that_train_on_what_another_one_holds_out(tmp_path: Path) -> None:
    """Which documents of the same text are held out, counted for each of the pairs."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name} {n}.\n\n" for n in range(60)))
    one, other = ({"source": "text", "path": str(tmp_path / f"{name}.txt")} for name in "ab")
    folder = {"source": "text", "path": str(tmp_path)}
    deduplicated = one | {"steps": ["deduplicate"]}
    pairs: list[tuple[Any, Any]] = [(one, other), (one, one), (one, one | {"max_documents": 9})]
    spoiled = [(one, one | {"validation_fraction": 0.3}), (folder, other), (one, deduplicated)]
    for sources in pairs + spoiled:
        mixture = {"source": "mixture", "sources": dict(zip("xy", sources, strict=True))}
        lines = found("trained_held_out", planned({"corpus": mixture}))
        assert bool(lines) == (sources in spoiled)
        assert all("two sources of pretrain.corpus read the same text" in line for line in lines)
        assert not found("trained_held_out", planned({"corpus": mixture, "held_out": "wikitext2"}))
        documents = list(split_corpus(MixedCorpus.model_validate(mixture)))
        trained = [one.sentences for one in documents if not one.is_held_out]
        is_trained = any(one.is_held_out and one.sentences in trained for one in documents)
        assert is_trained == bool(lines) or sources[1] is deduplicated  # which has no duplicates


def test_tasks_in_words_that_the_network_has_never_read(tmp_path: Path) -> None:
    text = tmp_path / "own.txt"
    text.write_text("Some words.\n\nSome more of them.\n")
    own = {"source": "text", "path": str(text)}
    (line,) = found("foreign_tasks", planned({"corpus": own}))
    assert line.startswith("x: pretrained without text of the micro-world") and "micro-sst2" in line
    arms = {"arm": {"own": {"pretrain.corpus": own}, "scratch": {"pretrain.budget": {"tokens": 0}}}}
    (line,) = found("foreign_tasks", planned({"corpus": own}, grid=arms))
    assert line.startswith("own: ")
    mixed = {"source": "mixture", "sources": {"own": own, "world": {"source": "microworld"}}}
    for corpus in ("microworld", mixed):
        assert not found("foreign_tasks", planned({"corpus": corpus}))


@pytest.mark.parametrize(
    ("recipe", "length", "corpus", "warned"),
    [
        ("skip_thought", 59, "wikitext2", True),
        ("skip_thought", 60, "wikitext2", False),
        ("skip_thought", 32, "microworld", False),
        ("lm_lstm", 32, "wikitext2", False),
    ],
)
def test_rows_of_few_sentences(recipe: str, length: int, corpus: str, warned: bool) -> None:
    phases = [{"fraction": 1, "sequence_length": length}]
    plan = planned({"recipe": recipe, "corpus": corpus, "phases": phases})
    lines = found("few_neighbours", plan)
    assert bool(lines) == warned
    assert not warned or "rows of 59 tokens hold few sentences" in lines[0]
