"""Fields of experiments: validation, and the arms they resolve to."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from harness.core.config import deep_merge, set_path
from harness.data.corpora import CORPORA
from harness.data.corpora.sources import HubCorpus, JsonLinesCorpus, MixedCorpus
from harness.experiment.arms import Arm, combinations, resolve_arm
from harness.experiment.evaluation import Evaluate
from harness.experiment.expectation import (
    Both,
    Comparison,
    Equality,
    Interaction,
    Level,
    NonInferiority,
    RankAgreement,
    Trend,
)
from harness.experiment.experiment import Experiment, Seeds
from harness.experiment.recipe_defaults import expand_names, resolve_pretrain
from harness.finetuning.search.sweep import SPACES, Sweep
from harness.models import SIZES
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.transforms.masking import SpanMasking
from harness.pretraining.recipes import RECIPES


def experiment(**fields: Any) -> Experiment:
    base = {"name": "study", "question": "Which?", "pretrain": {"size": "nano"}}
    return Experiment.read({**base, **fields})


def arms(**fields: Any) -> list[Arm]:
    declared = experiment(**fields)
    return [resolve_arm(declared, *combination) for combination in combinations(declared.grid)]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_alone_resolves_to_itself(name: str) -> None:
    assert resolve_pretrain({"recipe": name}) == RECIPES[name]


def test_without_a_grid_there_is_one_arm_named_like_the_experiment() -> None:
    (arm,) = arms()
    assert arm.name == "study" and arm.changes == {}
    assert arm.pretrain == resolve_pretrain({"recipe": "bert", "size": SIZES["nano"].model_dump()})


def test_the_base_takes_precedence_over_a_varied_recipe() -> None:
    bert, roberta = arms(
        pretrain={"batch_size": 8, "optimizer": {"beta1": 0.8}, "budget": {"tokens": 10}},
        grid={"pretrain.recipe": ["bert", "roberta"]},
    )
    for arm in (bert, roberta):
        assert (arm.pretrain.batch_size, arm.pretrain.optimizer.beta1) == (8, 0.8)
        assert (arm.pretrain.budget.tokens, arm.pretrain.budget.steps) == (10, None)
    assert (bert.pretrain.optimizer.beta2, roberta.pretrain.optimizer.beta2) == (0.999, 0.98)


def test_a_value_is_set_before_its_fields_in_any_order_of_axes() -> None:
    axes = {
        "pretrain.objective.transform.mask_rate": [0.2, 0.4],
        "pretrain.objective": ["mlm", "mlm_nsp"],
    }
    for grid in (axes, dict(reversed(axes.items()))):
        found = {
            (
                a.pretrain.objective.sentence_pair,
                a.pretrain.objectives[0].transform.model_dump()["mask_rate"],
            )
            for a in arms(grid=grid)
        }
        assert found == {("none", 0.2), ("none", 0.4), ("nsp", 0.2), ("nsp", 0.4)}


def test_a_corpus_of_another_source_replaces_that_of_the_base() -> None:
    files, hub = arms(
        pretrain={"corpus": {"source": "microworld", "num_tokens": 5_000}},
        grid={"pretrain.corpus": [{"source": "jsonl", "path": "x.jsonl"}, "wikitext2"]},
    )
    assert files.pretrain.corpus == JsonLinesCorpus(path="x.jsonl")
    assert isinstance(hub.pretrain.corpus, HubCorpus)


@pytest.mark.parametrize("text", ["wikitext2", {"source": "wikitext2"}])
def test_a_named_corpus_may_have_fields_of_its_own(text: Any) -> None:
    (named,) = arms(pretrain={"corpus": text})
    assert named.pretrain.corpus == CORPORA["wikitext2"]
    changed = {"source": "c4", "streaming": True, "max_bytes": 9_000}
    (one,) = arms(
        pretrain={
            "corpus": {"source": "mixture", "sources": {"web": changed, "wiki": text}},
            "held_out": changed,
            "tokenizer": {"corpus": changed},
        },
        evaluate={"continued_pretraining": [{"corpus": changed, "budget": {"steps": 5}}]},
    )
    assert isinstance(one.pretrain.corpus, MixedCorpus)
    expected = CORPORA["c4"].model_copy(update={"streaming": True, "max_bytes": 9_000})
    assert one.pretrain.corpus.sources == {"web": expected, "wiki": CORPORA["wikitext2"]}
    assert one.pretrain.held_out == one.pretrain.tokenizer.corpus == expected
    (step,) = one.evaluate.continued_pretraining
    assert step.corpus == expected


def test_fields_of_a_named_corpus_are_checked() -> None:
    with pytest.raises(ValueError, match=r"num_tokens"):
        arms(pretrain={"corpus": {"source": "c4", "num_tokens": 5}})


@pytest.mark.parametrize(
    ("axis", "value", "name"),
    [
        ("pretrain.objective.sentence_pair", "sop", "sop"),
        ("pretrain.objective.transform.whole_word", True, "whole_word=true"),
        ("pretrain.schedule.warmup_steps", None, "warmup_steps=null"),
        ("pretrain.objective.transform.mask_rate", 0.3, "mask_rate=0.3"),
        ("pretrain.objective", {"sentence_pair": "sop", "dupe_factor": 3}, "sop,dupe_factor=3"),
    ],
)
def test_names_of_arms(axis: str, value: Any, name: str) -> None:
    (arm,) = arms(grid={axis: [value]})
    assert arm.name == name and arm.changes == {axis: value}


def test_bundles_and_axes_multiply() -> None:
    found = arms(
        grid={
            "how": {"a": {"pretrain.batch_size": 8}, "b": {}},
            "evaluate.finetune.epochs": [1, 2, 3],
        }
    )
    assert [arm.name for arm in found][:2] == ["a/epochs=1", "a/epochs=2"]
    assert len({arm.name for arm in found}) == 6
    assert found[1].labels == {"how": "a", "evaluate.finetune.epochs": "epochs=2"}
    assert (found[1].pretrain.batch_size, found[1].evaluate.finetune.epochs) == (8, 2)


@pytest.mark.parametrize(
    "fields",
    [
        {"batch_size": "8"},
        {"batch_size": True},
        {"batch_size": 8.5},
        {"objective": {"transform": {"whole_word": 1}}},
    ],
)
def test_values_of_another_type_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        resolve_pretrain(fields)


def test_unknown_recipe() -> None:
    with pytest.raises(ValueError, match="'robert' is not known; did you mean 'roberta'"):
        resolve_pretrain({"recipe": "robert"})


def test_seeds() -> None:
    assert Seeds.read({"pretrain": 3, "finetune": [4, 2]}) == Seeds(
        pretrain=(0, 1, 2), finetune=(4, 2)
    )
    for wrong in (0, -1, 1001, [], [1, 1], [-1], [2**32], True, "3", None, 1.5):
        with pytest.raises(ValidationError):
            Seeds.read({"pretrain": wrong})


def test_expectations_may_predict_the_difference() -> None:
    declared = [
        {"average": "a > b", "predicted": 20},
        {"predicted": -0.5, "loss": "a < b"},
        {"CoLA": "a = b within 2", "predicted": 0},
    ]
    found = experiment(expect=declared).expect
    assert [one.predicted for one in found] == [20, -0.5, 0]
    assert [one.declared_as for one in found] == [
        "a > b, predicted +20",
        "a < b in held-out loss, predicted -0.5",
        "a = b within 2 on CoLA, predicted +0",
    ]
    assert experiment(expect=[one.model_dump(mode="json") for one in found]).expect == found
    for wrong in (float("nan"), "much"):
        with pytest.raises(ValidationError, match="predicted"):
            experiment(expect={"average": "a > b", "predicted": wrong})


def test_expectations() -> None:
    assert experiment(expect="a > b").expect == (Comparison(better="a", worse="b"),)
    assert len(experiment(expect=["a > b", {"better": "c", "worse": "d"}]).expect) == 2
    sides = ("a", "a > ", "a > > c", "a = b", "a = b within x", "> a - b")
    for wrong in (*sides, "a above", "a above x"):
        with pytest.raises(ValidationError, match="an expectation must have the form 'arm > arm'"):
            experiment(expect=wrong)


FORMS = {
    "a > b": Comparison(better="a", worse="b"),
    "a = b within 1.5": Equality(first="a", second="b", margin=1.5),
    "a - b > c - d": Interaction(better=("a", "b"), worse=("c", "d")),
    "a > b > c": Trend(ordered=("a", "b", "c")),
    "a/mlm >= b/2 within 1.5": NonInferiority(candidate="a/mlm", reference="b/2", margin=1.5),
    "a/mlm above 50": Level(arm="a/mlm", side="above", level=50),
    "a below 12_345_678_901": Level(arm="a", side="below", level=12_345_678_901),
    "a = b within 1_234_567": Equality(first="a", second="b", margin=1_234_567),
    "a >= b within 1_234_567": NonInferiority(candidate="a", reference="b", margin=1_234_567),
    "a below -0.5": Level(arm="a", side="below", level=-0.5),
    "a/250k > b/250k and b/4M > a/4M": Both(pairs=(("a/250k", "b/250k"), ("b/4M", "a/4M"))),
    "a and b > c": Comparison(better="a and b", worse="c"),
    "a > b and c": Comparison(better="a", worse="b and c"),
    "size=2 > size=1 > size=0": Trend(ordered=("size=2", "size=1", "size=0")),
}


@pytest.mark.parametrize("text", FORMS)
def test_forms_of_expectations(text: str) -> None:
    (one,) = experiment(expect=text).expect
    assert one == FORMS[text] and str(one) == text
    assert experiment(expect=[one.model_dump(mode="json")]).expect == (one,)
    (on_column,) = experiment(expect={"CoLA": text}).expect
    assert on_column == one.model_copy(update={"outcome": "CoLA"})
    assert str(on_column) == f"{text} on CoLA"
    about_loss = text.replace(">", "<")
    (of_loss,) = experiment(expect={"loss": about_loss}).expect
    assert str(of_loss) == f"{about_loss} in held-out loss"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > b > a", "a trend must name each arm once, but names 'a' again"),
        ("a > b = c within 2", "the form"),
        ("a >= b", "'arm >= arm within 2', .* but is 'a >= b'"),
        ("a <= b within 2", "about scores must have '>', as more is better"),
        ("a >= b >= c within 2", "must have the form"),
        ("a >= b within 0", "the margin of an expectation must be greater than 0, but is 0"),
        ("a = b within -2", "the margin of an expectation must be greater than 0, but is -2"),
        ("a < b", "about scores must have '>', as more is better, .* but is 'a < b'"),
        ({"loss": "a > b"}, "about a quantity must have '<', as less is better"),
        ({"los": "a < b"}, "must have '>', .*; 'los' is no quantity, did you mean 'loss'"),
        ("a > b within 2", "with a margin must have the form 'arm >= arm within 2'"),
        ({"average": "a > b", "predict": 4}, "'predict' is not known; did you mean 'predicted'"),
        (
            {"average": "a > b", "CoLA": "a = b within 2", "predicted": 1},
            r"one outcome, but has average, CoLA; .*: \[{average: \.\.\.}, {CoLA: \.\.\.}\]",
        ),
        ({"average": "a > b", "predicted": -4}, "predicted must be above 0 for .*, but is -4"),
        ({"loss": "a < b < c", "predicted": 0.5}, "predicted must be below 0 for .*, but is 0.5"),
        ({"average": "a - b > b - c", "predicted": -1}, "predicted must be above 0 for .*"),
        ("a = b within 1.2.3", "the form"),
        ("a > " * 1000 + "b", "at most 2,000 characters"),
        ("a > b and c > d > e", "'and' must join two comparisons, 'arm > arm and arm > arm'"),
        ("a > b and c - d > e - f", "'and' must join two comparisons"),
        ("a > b and c > d and e > f", "'and' must join two comparisons"),
        ("a > b and > d", "'and' must join two comparisons"),
        ("a > b and b > a", "must be about different arms, but both are about 'a' and 'b'"),
    ],
)
def test_expectations_of_another_form(text: Any, expected: str) -> None:
    if expected == "the form" and ">" in text:
        assert experiment(expect=text).expect[0].arms == ("a", "b = c within 2")  # no such arm
        return
    with pytest.raises(ValidationError, match=expected):
        experiment(expect=text)


def test_two_comparisons_predict_no_single_difference() -> None:
    with pytest.raises(ValidationError, match="predicted must be that of one difference"):
        experiment(expect={"average": "a > b and c > d", "predicted": 2})


def test_expectations_about_the_tokens_to_a_level() -> None:
    declared = [
        {"tokens to 60.5 on CoLA": "a < b"},
        {"tokens to -1 on average": "a < b < c"},
        {"tokens to 60 on blimp/wh_island": "a < b and d < c"},
    ]
    found = experiment(expect=declared).expect
    assert [str(one) for one in found] == [
        "a < b in tokens to 60.5 on CoLA",
        "a < b < c in tokens to -1 on average",
        "a < b and d < c in tokens to 60 on blimp/wh_island",
    ]
    assert {one.unit for one in found} == {"tokens"} and not any(one.is_counted for one in found)
    assert experiment(expect=[one.model_dump(mode="json") for one in found]).expect == found
    for wrong in ("tokens to x on CoLA", "tokens to 60", "tokens to 60 on ", "tokens to 6e1 on a"):
        with pytest.raises(ValidationError, match="must have the form 'tokens to 60 on CoLA'"):
            experiment(expect={wrong: "a < b"})
        with pytest.raises(ValidationError, match="must have the form 'tokens to 60 on CoLA'"):
            experiment(expect=[{"better": "a", "worse": "b", "outcome": wrong}])
    with pytest.raises(ValidationError, match="must have '<', as less is better"):
        experiment(expect={"tokens to 60 on CoLA": "a > b"})


def test_expectations_about_the_agreement_of_ranks() -> None:
    about = "rank agreement of average and loss"
    (one,) = experiment(expect={about: "a, b=1/x, c,d above 0.5"}).expect
    assert one == RankAgreement(
        outcome=about, ranked=("a", "b=1/x", "c", "d"), side="above", level=0.5
    )
    assert str(one) == "a, b=1/x, c, d above 0.5 in rank agreement of average and loss"
    assert one.arms == one.ranked and one.by == ("average", "loss")
    assert experiment(expect=[one.model_dump(mode="json")]).expect == (one,)
    (low,) = experiment(expect={about: "a, b, c, d below -0.2"}).expect
    assert low.expected_side == "below"


@pytest.mark.parametrize(
    ("about", "text", "expected"),
    [
        ("average and loss", "a, b, c above 0.5", "must name four arms or more and a level"),
        ("average and loss", "a, b, , c above 0.5", "must name four arms or more and a level"),
        ("average and loss", "a > b > c > d", "must name four arms or more and a level"),
        ("average and loss", "a, b, c, b above 0.5", "named once, but 'b' is named again"),
        ("average and loss", "a, b, c, d above 1", "tau cannot lie above 1"),
        ("average and loss", "a, b, c, d above 1.5", "less than or equal to 1"),
        ("average", "a, b, c, d above 0.5", "must be that of two outcomes"),
        ("loss and loss", "a, b, c, d above 0.5", "must be that of two outcomes"),
        ("flops and parameters", "a, b, c, d above 0.5", "must vary between runs"),
    ],
)
def test_rank_agreements_of_another_form(about: str, text: str, expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        experiment(expect={f"rank agreement of {about}": text})


def test_rank_agreements_need_quotes_within_braces() -> None:
    split = {"rank agreement of average and loss": "a", "b": None, "c": None, "d above 0": None}
    with pytest.raises(ValidationError, match="must have quotes around its arms"):
        experiment(expect=[split])
    with pytest.raises(ValidationError, match="predicted has no effect on a rank agreement"):
        experiment(expect={"rank agreement of CoLA and RTE": "a, b, c, d above 0", "predicted": 1})


def test_weights_of_expectations() -> None:
    assert FORMS["a > b"].weights == {"a": 1, "b": -1}
    assert FORMS["a - b > c - d"].weights == {"a": 1, "b": -1, "c": -1, "d": 1}
    diminishing = Interaction(better=("b", "a"), worse=("c", "b"))
    assert diminishing.weights == {"b": 2, "a": -1, "c": -1}
    assert FORMS["a > b > c"].weights == {"a": 1, "b": 0, "c": -1}


@pytest.mark.parametrize("num_arms", [3, 4, 7])
def test_a_trend_is_the_change_along_the_line_of_least_squares(num_arms: int) -> None:
    scores = np.random.default_rng(num_arms).random(num_arms)
    trend = Trend(ordered=tuple(map(str, range(num_arms))))
    found = sum(weight * scores[int(arm)] for arm, weight in trend.weights.items())
    slope, _ = np.polyfit(np.arange(num_arms), scores, 1)
    assert found == pytest.approx(-slope * (num_arms - 1))


def test_claims_add_expectations() -> None:
    declared = experiment(
        expect="a > b", claims={"E1": ["a > b", {"loss": "a < b"}], "E2": "a > c"}
    )
    assert [str(one) for one in declared.expectations] == [
        "a > b",
        "a < b in held-out loss",
        "a > c",
    ]
    assert [declared.claims_of(one) for one in declared.expectations] == [["E1"], ["E1"], ["E2"]]
    assert Experiment.read(declared.model_dump(mode="json")) == declared
    assert experiment().expectations == ()


def test_expectations_about_losses() -> None:
    (one,) = experiment(expect={"loss": "a < b"}).expect
    assert one == Comparison(better="a", worse="b", outcome="loss")
    assert Comparison.read(one.model_dump()) == one
    (other, average) = experiment(expect=[{"bits_per_byte": "a < b"}, "b > a"]).expect
    assert [str(of) for of in (one, other, average)] == [
        "a < b in held-out loss",
        "a < b in held-out bits per byte",
        "b > a",
    ]
    with pytest.raises(ValidationError, match="must have the form 'loss: arm < arm'"):
        experiment(expect={"loss": "a <"})


def test_expectations_about_columns_and_probes() -> None:
    column, probe = experiment(
        expect=[{"micro-cola": "a > b"}, {"blimp/wh_island": "b > a"}]
    ).expect
    assert column == Comparison(better="a", worse="b", outcome="micro-cola")
    assert [str(one) for one in (column, probe)] == [
        "a > b on micro-cola",
        "b > a on blimp/wh_island",
    ]
    with pytest.raises(ValidationError, match="must have the form 'micro-cola: arm > arm'"):
        experiment(expect={"micro-cola": "a"})
    with pytest.raises(ValidationError):
        experiment(expect={"CoLA": "a > b", "SST-2": "a > b"})


@pytest.mark.parametrize("name", SPACES)
def test_named_spaces(name: str) -> None:
    assert Sweep.read({"trials": 2, "space": name}).space == SPACES[name]


@pytest.mark.parametrize(
    "space",
    [
        {"epochs": []},
        {"epochs": [1, 1]},
        {"epochs": {"low": 1.5, "high": 3}},
        {"batch_size": {"low": 0, "high": 8}},
        {"learning_rate": {"low": 0.1, "high": 0.01}},
        {"learning_rate": {"low": 0.0, "high": 0.1, "log": True}},
        {"learning_rate": 0.1},
        {"dropout": [0.1]},
    ],
)
def test_spaces_that_cannot_be_searched(space: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Sweep.read({"trials": 2, "space": space})


def test_no_trials_leave_the_space_unused() -> None:
    assert Sweep.read({"trials": 0, "space": "bert_grid"}).trials == 0


def test_tasks_are_those_of_the_suite() -> None:
    assert Evaluate.read({"suite": "glue-v1", "tasks": ["rte"]}).tasks == ("rte",)
    for wrong in ([], ["micro-rte"], ["rte", "rte"]):
        with pytest.raises(ValidationError):
            Evaluate.read({"suite": "glue-v1", "tasks": wrong})


trees = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)
mappings = st.dictionaries(st.sampled_from("abc"), trees, max_size=3)


@given(mappings, mappings, mappings)
def test_merging_is_associative_and_idempotent(
    x: dict[str, Any], y: dict[str, Any], z: dict[str, Any]
) -> None:
    assert deep_merge(deep_merge(x, y), z) == deep_merge(x, deep_merge(y, z)) or _kinds_clash(
        x, y, z
    )
    assert deep_merge(deep_merge(x, y), y) == deep_merge(x, y)
    assert deep_merge({}, x) == x == deep_merge(x, {})


def _kinds_clash(x: Any, y: Any, z: Any) -> bool:
    """Whether a scalar is between two mappings, where merging is not associative."""
    if not isinstance(y, dict):
        return isinstance(x, dict) and isinstance(z, dict)
    if not (isinstance(x, dict) and isinstance(z, dict)):
        return False
    return any(_kinds_clash(x[k], y[k], z[k]) for k in y.keys() & x.keys() & z.keys())


def test_set_path_creates_missing_mappings() -> None:
    assert set_path({"a": {"b": 1}}, "a.c.d", 2) == {"a": {"b": 1, "c": {"d": 2}}}
    assert set_path({"a": 1}, "a.b", 2) == {"a": {"b": 2}}


def run(**fields: Any) -> Any:
    return resolve_pretrain(expand_names({"size": "nano", "budget": {"tokens": 1000}, **fields}))


def test_a_transform_by_its_kind_alone_takes_that_kinds_defaults() -> None:
    objective = run(objective={"transform": "span_masking"}).objective
    assert objective.transform == SpanMasking()
    assert objective.sentence_pair == "nsp"  # that of the recipe


def test_an_unpublished_combination_is_an_objective() -> None:
    objective = {"transform": "span_masking", "output": "replaced_token", "sentence_pair": "sop"}
    resolved = run(objective=objective).objective
    assert (resolved.transform.kind, resolved.output.kind) == ("span_masking", "replaced_token")


def test_init_from_inherits_the_fields_of_the_run() -> None:
    resolved = run(
        packing={"format": "full_sentences"},
        objective="clm",
        init_from={"objective": "mlm", "budget": {"steps": 7}},
    )
    start = resolved.init_from
    assert start.budget.steps == 7 and start.budget.tokens is None
    assert start.objective == OBJECTIVES["mlm"]
    assert (start.size, start.model, start.packing) == (
        resolved.size,
        resolved.model,
        resolved.packing,
    )
    assert start.init_from is None


def test_a_teacher_inherits_the_text_but_not_the_network() -> None:
    resolved = run(
        batch_size=8,
        model={"family": "bert", "dropout": 0.0},
        packing={"format": "full_sentences"},
        objective={"sentence_pair": "none", "distillation": {"cosine_weight": 0}},
        teacher={"recipe": "roberta", "size": "tiny"},
        tokenizer={"vocab_size": 500, "lowercase": False},
    )
    teacher = resolved.teacher
    assert teacher.tokenizer == resolved.tokenizer
    assert (teacher.batch_size, teacher.model.dropout, teacher.model.family) == (8, 0.0, "roberta")
    assert teacher.size == SIZES["tiny"] and teacher.objective.distillation is None
