"""Settings of networks narrower than the published ones."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.data.corpora.sources import HubCorpus, MicroworldCorpus, TextCorpus
from harness.experiment.arms import Arm, combinations, resolve_arm
from harness.experiment.experiment import Experiment
from harness.experiment.recipe_defaults import evaluate_defaults, expand_names, resolve_pretrain
from harness.finetuning.protocol import Finetune, Protocol
from harness.models import MODELS, SIZES
from harness.plan.differences import check_contract, differing_fields
from harness.pretraining.budget import Budget
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.recipes.small_sizes import (
    IMPLIED,
    MAX_VOCAB_SIZE,
    MIN_VOCAB_SIZE,
    batch_size,
    default_tokens,
    evaluation_settings,
    pretraining_settings,
    vocabulary_size,
)

WITHOUT_NETWORK = ("baseline", "checkpoint")
NETWORKS = [
    name for name, recipe in RECIPES.items() if recipe.model.facts.kind not in WITHOUT_NETWORK
]


def run(**fields: Any) -> Pretrain:
    return resolve_pretrain(expand_names(fields))


def arms(**fields: Any) -> list[Arm]:
    base = {"name": "study", "question": "Which?", "pretrain": {"size": "nano"}}
    declared = Experiment.read({**base, **fields})
    return [resolve_arm(declared, *combination) for combination in combinations(declared.grid)]


@pytest.mark.parametrize("name", RECIPES)
def test_published_sizes_keep_the_published_numbers(name: str) -> None:
    assert run(recipe=name, size=RECIPES[name].size.model_dump()) == RECIPES[name]
    if not RECIPES[name].teacher:
        large = run(recipe=name, size="large")
        assert large == RECIPES[name].model_copy(update={"size": SIZES["large"]})


@pytest.mark.parametrize("size", ["nano", "base"])
def test_a_recipe_without_pretraining_has_none_at_any_size(size: str) -> None:
    assert run(recipe="transformer", size=size).budget == Budget(tokens=0)
    given = run(recipe="transformer", size=size, budget={"tokens": 1000}).budget
    assert given == Budget(tokens=1000)


def test_a_named_model_keeps_the_settings_of_a_small_size() -> None:
    small = run(size="nano", model="albert").model
    assert (small.family, small.embedding_size) == ("albert", 128)
    assert (small.dropout, small.attention_dropout) == (0.0, 0.0)
    assert small.initializer_range == run(size="nano").model.initializer_range > 0.02
    assert run(size="base", model="albert").model == MODELS["albert"]
    (arm,) = arms(grid={"pretrain.model": ["albert"]})
    assert arm.pretrain.model == small
    (arm,) = arms(
        pretrain={"size": "nano", "model": "albert"}, grid={"pretrain.model.dropout": [0.1]}
    )
    assert arm.pretrain.model == small.model_copy(update={"dropout": 0.1})


def test_the_rate_of_matrices_falls_with_width_and_that_of_embeddings_is_constant() -> None:
    """As in table 8 of Yang et al. 2021; at width 256, the published rate of ELECTRA-small (Clark
    et al. 2020, table 6: 5e-4)."""
    rates = {}
    for size in ("nano", "tiny", "mini"):
        optimizer = run(recipe="bert", size=size).optimizer
        rates[size] = optimizer.learning_rate
        assert optimizer.learning_rate * optimizer.embedding_learning_rate_factor == pytest.approx(
            4e-3
        )
    assert rates == {"nano": 2e-3, "tiny": 1e-3, "mini": 5e-4}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_recipe_has_the_settings_of_its_size(name: str) -> None:
    """Also the teachers, which have a size of their own; T5 scales initial weights by itself, and
    has an optimizer of its own; the Transformer is not pretrained."""
    teacher = {"teacher": {"size": "nano"}} if RECIPES[name].teacher else {}
    small = run(recipe=name, size="nano", **teacher)
    is_t5 = small.model.family == "t5"
    optimizer = ("adafactor", 0.03, 2.0) if is_t5 else ("adamw", 2e-3, 2.0)
    assert optimizer == (
        small.optimizer.kind,
        small.optimizer.learning_rate,
        small.optimizer.embedding_learning_rate_factor,
    )
    assert small.model.dropout == 0
    assert small.budget.tokens == (name != "transformer") * default_tokens(SIZES["nano"])
    scale = 0.02 if is_t5 else round(0.02 * math.sqrt(768 / 64), 3)
    assert small.model.initializer_range == scale


def test_a_teacher_has_the_settings_of_its_own_size() -> None:
    student = run(recipe="tinybert", size="nano", teacher={"size": "tiny"})
    assert student.teacher is not None
    assert (student.optimizer.learning_rate, student.teacher.optimizer.learning_rate) == (
        2e-3,
        1e-3,
    )


FIELDS: dict[str, Any] = {
    "optimizer": {"learning_rate": 0.5, "embedding_learning_rate_factor": 9.0},
    "schedule": {"warmup_fraction": 0.5},
    "model": {"dropout": 0.3, "attention_dropout": 0.3, "initializer_range": 0.5},
    "phases": [{"fraction": 1.0, "sequence_length": 8}],
    "batch_size": 3,
    "tokenizer": {"vocab_size": 777},
    "budget": {"flops": 1e12},
}


@given(st.sets(st.sampled_from(sorted(FIELDS))))
def test_declared_fields_take_precedence(names: set[str]) -> None:
    given_ = {name: FIELDS[name] for name in names}
    resolved = run(recipe="roberta", size="tiny", **given_).model_dump(mode="json")
    plain = run(recipe="roberta", size="tiny").model_dump(mode="json")
    for name in FIELDS:
        for field in FIELDS[name] if isinstance(FIELDS[name], dict) else ():
            expected = FIELDS[name] if name in names else plain[name]
            assert resolved[name][field] == expected[field]
    assert "batch_size" not in names or resolved["batch_size"] == 3
    lengths = [phase["sequence_length"] for phase in resolved["phases"]]
    assert lengths == ([8] if "phases" in names else [64])


def test_the_batch_follows_the_length_and_the_budget() -> None:
    """512 tokens up to 2M tokens, then a four-thousandth of the budget; in powers of 2."""
    assert batch_size(Budget(tokens=0), 64) == batch_size(Budget(flops=1e12), 64) == 8
    assert batch_size(Budget(tokens=2_000_000), 64) == 8
    assert batch_size(Budget(tokens=2_000_000), 128) == 4
    assert batch_size(Budget(tokens=64_000_000), 64) == 256
    assert batch_size(Budget(tokens=1_000), 4_096) == 1
    assert run(recipe="bert", size="nano").batch_size == 16
    declared = run(recipe="bert", size="nano", phases=[{"fraction": 1.0, "sequence_length": 128}])
    assert declared.batch_size == 4


def test_default_tokens_are_twenty_per_parameter_of_the_layers() -> None:
    """BERT tiny: two layers of 4 x 128^2 weights of attention and 8 x 128^2 of the feed-forward
    network."""
    assert default_tokens(SIZES["tiny"]) == 20 * 2 * (4 + 8) * 128**2


def test_the_vocabulary_follows_the_text(tmp_path: Path) -> None:
    assert vocabulary_size(HubCorpus(path="a/b")) == MAX_VOCAB_SIZE
    assert vocabulary_size(MicroworldCorpus(num_tokens=10_000)) == 1_200
    sizes = []
    for kilobytes in (10, 12_000, 20_000, 100_000):
        file = tmp_path / f"{kilobytes}.txt"
        with file.open("wb") as stream:
            stream.truncate(kilobytes * 1_000)
        sizes.append(vocabulary_size(TextCorpus(path=str(file))))
    assert sizes[0] == MIN_VOCAB_SIZE and sizes[-1] == MAX_VOCAB_SIZE - 100
    assert sizes == sorted(set(sizes))
    # 12 MB are 2.7M tokens, of which a type of rank r has 2.7M / (r x (ln V + 0.58))
    rank = 0.95 * sizes[1]
    assert 12e6 / 4.5 / (rank * (math.log(sizes[1]) + 0.58)) == pytest.approx(100, rel=0.06)


def test_fine_tuning_follows_the_size_unless_it_is_declared() -> None:
    def arm(**evaluate: Any) -> Finetune:
        return arms(evaluate=evaluate)[0].evaluate.finetune

    assert arm() == Finetune(**evaluate_defaults(run(size="nano"))["finetune"])
    assert (arm().learning_rate, arm().epochs, arm().batch_size) == (1e-3, 6, 16)
    chain = [{"task": "micro-mnli", "finetune": {"epochs": 9}}, {"task": "micro-sst2"}]
    (first,) = arms(evaluate={"intermediate_tasks": chain})
    own, others = (task.finetune for task in first.evaluate.intermediate_tasks)
    assert (own, others) == (arm().model_copy(update={"epochs": 9}), None)
    declared = arm(finetune={"epochs": 2, "weight_decay": 0.1})
    assert declared == arm().model_copy(update={"epochs": 2, "weight_decay": 0.1})
    assert arms(pretrain={"size": "base"})[0].evaluate.finetune == Finetune()


def test_pooling_follows_the_size_unless_it_is_declared() -> None:
    def arm(size: str, **protocol: Any) -> Protocol:
        declared = arms(pretrain={"size": size}, evaluate={"protocol": protocol})
        return declared[0].evaluate.protocol

    assert arm("base") == Protocol()
    assert arm("nano") == Protocol(pooling="max", head_dropout=0)
    assert arm("nano", pooling="native") == Protocol(pooling="native", head_dropout=0)


def test_sizes_and_budgets_may_be_varied_although_they_imply_other_fields() -> None:
    grids: tuple[dict[str, Any], ...] = (
        {"pretrain.size": ["nano", "base"]},
        {"pretrain.budget.tokens": ["1M", "64M"]},
        {"pretrain.corpus": ["microworld", "wikitext2"]},
    )
    for grid in grids:
        differences = differing_fields(arms(grid=grid))
        (axis,) = grid
        check_contract(differences, frozenset(path for path in differences if axis in path))
    implied: dict[str, Any] = {
        "pretrain.size.num_layers": {},
        "pretrain.optimizer.learning_rate": {},
    }
    others: dict[str, Any] = {
        "pretrain.optimizer.beta1": {"a": 0.9, "b": 0.8},
        "pretrain.optimizer.eps": {"a": 1},
    }
    fields = r"beta1 \(0\.9 in a, 0\.8 in b\), pretrain\.optimizer\.eps \(1 in a\); set"
    with pytest.raises(ValueError, match=rf"but differ in pretrain\.optimizer\.{fields}"):
        check_contract({**implied, **others}, frozenset(implied))


@pytest.mark.parametrize("size", ["nano", "base"])
@pytest.mark.parametrize("recipe", ["bert", "roberta", "t5", "albert"])
def test_another_optimizer_keeps_its_other_settings(recipe: str, size: str) -> None:
    kinds = ["adamw", "lamb", "muon", "sgd"]
    pretrain = {"recipe": recipe, "size": size, "optimizer": {"beta1": 0.8}}
    found = arms(pretrain=pretrain, grid={"pretrain.optimizer.kind": kinds})
    assert [arm.pretrain.optimizer.kind for arm in found] == kinds
    assert differing_fields(found).keys() == {"pretrain.optimizer.kind"}
    assert {arm.pretrain.optimizer.beta1 for arm in found} == {0.8}


def leaves(tree: dict[str, Any], prefix: str = "") -> set[str]:
    """Dotted paths of the values in nested mappings."""
    found: set[str] = set()
    for name, value in tree.items():
        path = f"{prefix}{name}"
        found |= leaves(value, f"{path}.") if isinstance(value, dict) else {path}
    return found


def test_implied_fields_are_those_that_are_set() -> None:
    """`batch_size` and `num_kv_heads` have functions of their own, and a budget in updates replaces
    that in tokens."""
    nano = SIZES["nano"]
    pretrain = {
        path
        for family in ("bert", "t5")
        for path in leaves(pretraining_settings(nano, MicroworldCorpus(), family))
    }
    evaluate = leaves(evaluation_settings(nano), "evaluate.")
    others = {"batch_size", "budget.steps", "model.num_kv_heads"}
    assert set(IMPLIED) == pretrain | evaluate | others


def test_key_heads_are_shared_as_in_the_recipe() -> None:
    """Four query heads to a key head in Llama 3 8B, or all of the fewer heads."""
    heads = {name: run(recipe="llama3", size=name).model.num_kv_heads for name in ("nano", "mini")}
    assert heads == {"nano": 1, "mini": 1}
    assert run(recipe="llama3", size="tinybert4").model.num_kv_heads == 3
    assert run(recipe="llama", size="nano").model.num_kv_heads is None
    assert run(recipe="llama3", size="nano", model={"num_kv_heads": 2}).model.num_kv_heads == 2
    with pytest.raises(ValueError, match=r"num_kv_heads must divide size\.num_heads = 12"):
        run(recipe="llama3", size="base")


def test_a_missing_corpus_leaves_the_settings_of_the_size() -> None:
    """The check of data reports it."""
    lost = run(size="nano", corpus={"source": "text", "path": "no.txt"})
    assert lost.optimizer == run(size="nano").optimizer
    assert lost.tokenizer.vocab_size == MIN_VOCAB_SIZE


def test_inputs_are_no_longer_than_the_positions_unless_a_length_is_set() -> None:
    def length(positions: int, **fields: Any) -> int:
        network = {"size": "nano", "model": {"max_position": positions}}
        (arm,) = arms(pretrain=network | fields.pop("pretrain", {}), evaluate=fields)
        return arm.evaluate.protocol.max_sequence_length

    assert (length(64), length(512)) == (64, 128)
    assert length(64, protocol={"max_sequence_length": 100}) == 100  # an error of the checks
    assert length(64, pretrain={"recipe": "llama"}) == 128  # its positions are rotations
    two = arms(grid={"pretrain.model.max_position": [64, 512]})
    differences = differing_fields(two)
    assert differences["evaluate.protocol.max_sequence_length"] == {
        "max_position=64": 64,
        "max_position=512": 128,
    }
    check_contract(differences, frozenset({"pretrain.model.max_position"}))
