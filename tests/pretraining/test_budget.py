"""From a budget to updates, and what a run costs."""

from typing import Any

import pytest

from harness.data.corpora.packing import Packing
from harness.data.tokenizers import Tokenizer
from harness.models import MODELS, SIZES, Architecture
from harness.models.flops import Lengths, forward_flops
from harness.pretraining.budget import Budget, Phase, num_steps
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.distillation import Distillation
from harness.pretraining.objectives.objective import Mixture, Objective, parts_of
from harness.pretraining.objectives.outputs import ReplacedToken
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.steps import (
    planned_steps,
    tokens_per_step,
    training_flops_per_sequence,
    training_flops_per_step,
)

VOCAB = 30_522
TOKENIZER = Tokenizer(vocab_size=VOCAB, sentinels=100, extra_tokens=("[NLU]", "[NLG]", "[S2S]"))
ONE_PHASE = (Phase(fraction=1.0, sequence_length=128),)


def pretrain(**fields: Any) -> Pretrain:
    defaults = {
        "size": SIZES["base"],
        "phases": ONE_PHASE,
        "budget": Budget(steps=10),
        "batch_size": 8,
        "tokenizer": TOKENIZER,
    }
    return Pretrain(**defaults | fields)


def test_steps_of_each_unit() -> None:
    def steps(**unit: float) -> int:
        return num_steps(
            Budget(**unit),
            tokens_per_step=100,
            flops_per_step=1e6,
            steps_per_second=2.5,
        )

    assert steps(steps=7) == 7
    assert steps(tokens=700) == 7 and steps(tokens=701) == 8  # at least what was declared
    assert steps(flops=7e6) == 7 and steps(flops=7.9e6) == 7  # at most
    assert steps(seconds=4) == 10 and steps(seconds=4.3) == 10
    for unit in Budget.model_fields:
        assert steps(**{unit: 0}) == 0


def test_seconds_need_a_measured_rate() -> None:
    spec = pretrain(budget=Budget(seconds=60))
    with pytest.raises(ValueError, match="needs a measured rate"):
        planned_steps(spec)
    assert planned_steps(spec, steps_per_second=2) == 120


def test_nothing_costs_nothing_and_needs_no_rate() -> None:
    assert planned_steps(pretrain(budget=Budget(seconds=0))) == 0
    control = pretrain(model=Architecture(family="majority"), budget=Budget(tokens=0))
    assert planned_steps(control) == training_flops_per_step(control) == 0


def test_a_budget_of_flops_pays_for_that_many_updates() -> None:
    spec = pretrain()
    flops = training_flops_per_step(spec)
    assert planned_steps(pretrain(budget=Budget(flops=100 * flops))) == 100
    assert planned_steps(pretrain(budget=Budget(flops=99.9 * flops))) == 99


def test_phases_are_weighted_by_their_updates() -> None:
    phases = (Phase(fraction=0.9, sequence_length=128), Phase(fraction=0.1, sequence_length=512))
    spec = pretrain(phases=phases)
    assert tokens_per_step(spec) == pytest.approx(8 * (0.9 * 128 + 0.1 * 512))
    short, long = (training_flops_per_sequence(spec, length) for length in (128, 512))
    assert training_flops_per_step(spec) == pytest.approx(8 * (0.9 * short + 0.1 * long))
    assert long > 4 * short  # attention grows with the square


def test_bert_base_agrees_with_the_published_figure() -> None:
    """ELECTRA's script with sparse lookups and backward = 2 x forward gives 7.77e19 for 1M updates
    of 256 x 512, biases, norms and softmax counted; products alone are 7.72e19 by 6N + 12LHQT."""
    spec = pretrain(batch_size=256, phases=(Phase(fraction=1.0, sequence_length=512),))
    flops = 1e6 * training_flops_per_step(spec)
    assert flops == pytest.approx(7.72e19, rel=0.005)
    assert flops == pytest.approx(7.77e19, rel=0.01)


def test_replaced_tokens_cost_generator_and_discriminator() -> None:
    electra = Architecture(family="electra")
    output = ReplacedToken(generator_width=1 / 3)
    spec = pretrain(model=electra, objective=Objective(output=output))
    generator = Architecture(family="electra", embedding_size=768)
    third = SIZES["base"].model_copy(
        update={"hidden_size": 256, "num_heads": 4, "intermediate_size": 1024}
    )
    hidden = round(0.15 * 128)
    generating = forward_flops(generator, third, VOCAB, Lengths(128, predicted=hidden))
    detecting = forward_flops(electra, SIZES["base"], VOCAB, Lengths(128))
    head = 2 * 128 * (768**2 + 768)
    assert training_flops_per_sequence(spec, 128) == pytest.approx(
        3 * (generating + detecting + head)
    )


def test_a_teacher_costs_its_forward_pass() -> None:
    alone = pretrain(size=SIZES["half_base"])
    teacher = pretrain()
    taught = pretrain(
        size=SIZES["half_base"],
        objective=Objective(distillation=Distillation()),
        teacher=teacher,
    )
    extra = training_flops_per_sequence(taught, 128) - training_flops_per_sequence(alone, 128)
    assert extra == pytest.approx(training_flops_per_sequence(teacher, 128) / 3)


def test_relations_cost_their_products() -> None:
    """Of queries, keys and values of one layer (Wang et al. 2021, section 3.1)."""
    spec = RECIPES["minilm"]
    assert spec.teacher is not None
    vocab = spec.tokenizer.vocab_size
    student, teacher = (
        forward_flops(one.model, one.size, vocab, Lengths(128)) + 3 * 2 * 128**2 * width
        for one, width in ((spec, 384), (spec.teacher, 768))
    )
    assert training_flops_per_sequence(spec, 128) == pytest.approx(3 * student + teacher)


def test_matching_states_alone_needs_no_token_head() -> None:
    """Jiao et al. 2020: TinyBERT's first stage compares embeddings, states and attention."""
    weights = {"soft_target": 0, "token": 0, "cosine": 0, "hidden": 1, "attention": 1}
    distillation = Distillation(**{f"{name}_weight": value for name, value in weights.items()})
    spec = pretrain(
        size=SIZES["tinybert4"],
        objective=Objective(distillation=distillation),
        teacher=pretrain(),
    )
    student = forward_flops(spec.model, spec.size, VOCAB, Lengths(128))
    teacher = forward_flops(spec.model, SIZES["base"], VOCAB, Lengths(128))
    projected = 2 * 5 * 128 * 312 * 768
    assert training_flops_per_sequence(spec, 128) == 3 * (student + projected) + teacher


def test_a_mixture_costs_the_mean_of_its_parts() -> None:
    mixture = OBJECTIVES["mlm_clm"]
    assert isinstance(mixture, Mixture)
    parts = [
        training_flops_per_sequence(pretrain(objective=part.objective), 128)
        for part in mixture.mixture
    ]
    whole = training_flops_per_sequence(pretrain(objective=mixture), 128)
    assert whole == pytest.approx(sum(parts) / 2)
    assert parts[1] > parts[0]  # every token is predicted


def test_what_a_run_starts_from_is_a_run_of_its_own() -> None:
    first = pretrain()
    second = pretrain(init_from=first)
    assert training_flops_per_step(first) == training_flops_per_step(second)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_has_a_cost(name: str) -> None:
    objective = OBJECTIVES[name]
    representation = objective.components[0][1].representation
    family = next(
        family for family, model in MODELS.items() if representation in model.facts.representations
    )
    pairs = any(one.sentence_pair != "none" for _, one in objective.components)
    model = MODELS[family]
    if any(part.segments for part in parts_of(objective)):
        model = model.model_copy(update={"segment_types": 6})
    packing = Packing(format="segment_pair" if pairs else "full_sentences")
    spec = pretrain(objective=objective, model=model, size=SIZES["tiny"], packing=packing)
    assert training_flops_per_step(spec) > 0
