"""`extends:` and `variants:`: precedence, names, origins and errors."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from harness.cli.app import app
from harness.core.config import deep_merge
from harness.experiment.declaration import Declaration, from_data, load, variant_problems
from harness.experiment.resolution import arm_fields, experiment_fields
from harness.experiment.source import DeclarationError
from harness.plan.factory import make_plan

BASE = {
    "question": "Which?",
    "pretrain": {
        "recipe": "roberta",
        "size": "nano",
        "corpus": {"source": "microworld", "num_tokens": 30_000},
        "optimizer": {"learning_rate": 0.001},
        "budget": {"tokens": 1_000},
    },
    "grid": {"pretrain.budget.tokens": [1_000, 2_000]},
    "evaluate": {"suite": "micro-glue-v1", "protocol": {"pooling": "max"}},
}


def write(folder: Path, **files: dict[str, Any]) -> Path:
    """Writes each as a YAML file; the path of the first."""
    for name, data in files.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    return folder / f"{next(iter(files))}.yaml"


def loaded(folder: Path, *variants: str, **files: dict[str, Any]) -> Declaration:
    return load(write(folder, **files), variants=variants)


def problems(folder: Path, *variants: str, **files: dict[str, Any]) -> list[str]:
    with pytest.raises(DeclarationError) as caught:
        loaded(folder, *variants, **files)
    return [line.replace(f"{folder}/", "") for line in caught.value.problems]


def test_mappings_are_merged_as_if_written_in_one_file(tmp_path: Path) -> None:
    top = {
        "name": "x",
        "pretrain": {"optimizer": {"weight_decay": 0.1}, "batch_size": 8},
        "evaluate": {"tasks": ["micro-sst2"]},
    }
    composed = loaded(tmp_path, x={"extends": "base.yaml", **top}, base=BASE)
    assert composed.resolved() == from_data(deep_merge(BASE, top)).resolved()


def test_claims_of_the_base_are_replaced(tmp_path: Path) -> None:
    grid = {"pretrain.recipe": ["bert", "roberta"]}
    base = deep_merge(BASE, {"claims": {"E73": "no arm > other"}})
    for claims in ({}, {"E1": "bert > roberta"}):
        top = {"name": "x", "extends": "base.yaml", "grid": grid, "claims": claims}
        assert list(loaded(tmp_path, x=top, base=base).experiment.claims) == list(claims)


def test_empty_arms_drop_those_of_the_base_and_others_are_merged(tmp_path: Path) -> None:
    base = BASE | {"arms": {"tokens=1000": {"pretrain.batch_size": 4}}}
    grid = {"pretrain.size": ["nano", "tiny"]}
    child = {"name": "x", "extends": "base.yaml", "grid": grid}
    assert problems(tmp_path, x=child, base=base)
    assert not loaded(tmp_path, x=child | {"arms": {}}, base=base).experiment.arms
    more = {"tokens=2000": {"pretrain.batch_size": 8}}
    top = {"name": "x", "extends": "base.yaml", "arms": more}
    assert len(loaded(tmp_path, x=top, base=base).experiment.arms) == 2


def test_grid_and_budget_are_replaced(tmp_path: Path) -> None:
    top = {"name": "x", "extends": "base.yaml", "pretrain": {"budget": {"steps": 7}}}
    grid = {"grid": {"pretrain.recipe": ["bert", "roberta"]}}
    composed = loaded(tmp_path, x={**top, **grid}, base=BASE)
    assert [arm.name for arm in composed.arms] == ["bert", "roberta"]
    assert composed.arms[0].pretrain.budget.model_dump(exclude_none=True) == {"steps": 7}


def test_an_amount_of_a_budget_replaces_that_of_the_base(tmp_path: Path) -> None:
    base = {name: value for name, value in BASE.items() if name != "grid"}
    amounts = {"pretrain.budget.steps": 7, "pretrain.init_from.budget.tokens": 9}
    top = {"pretrain": {"init_from": {"budget": {"flops": 1e9}}}, "variants": {"short": amounts}}
    path = write(tmp_path, x={**deep_merge(base, top), "name": "x"})
    override = "pretrain.budget.flops=1e10"
    for variants, overrides, budget in (
        (["short"], [], {"steps": 7}),
        (["short"], [override], {"flops": 1e10}),
        ([], [override, "pretrain.budget.steps=5"], {"steps": 5}),
    ):
        (arm,) = load(path, overrides, variants).arms
        assert arm.pretrain.budget.model_dump(exclude_none=True) == budget
        start = {"tokens": 9} if variants else {"flops": 1e9}
        assert arm.pretrain.init_from
        assert arm.pretrain.init_from.budget.model_dump(exclude_none=True) == start
    both = {"both": {**amounts, "pretrain.budget.tokens": 5}}
    (problem,) = problems(tmp_path, "both", x={**base, "name": "x", "variants": both})
    assert "2 are given (tokens, steps)" in problem


def test_an_override_of_a_warmup_that_is_given_in_updates(tmp_path: Path) -> None:
    schedule = {"warmup_steps": 2, "warmup_fraction": 0.06}  # as on a base with a fraction
    base = {name: value for name, value in BASE.items() if name != "grid"}
    path = write(tmp_path, x=deep_merge(base, {"name": "x", "pretrain": {"schedule": schedule}}))
    share, none = (
        f"pretrain.schedule.{one}" for one in ("warmup_fraction=0.5", "warmup_steps=null")
    )
    (arm,) = load(path, [share, none]).arms
    assert (arm.pretrain.schedule.warmup_steps, arm.pretrain.schedule.warmup_fraction) == (
        None,
        0.5,
    )
    with pytest.raises(
        DeclarationError, match=f"^--set {share}: .* has no effect, as warmup_steps"
    ):
        load(path, [share])


def test_a_dotted_hyperparameter_is_added_to_a_space(tmp_path: Path) -> None:
    search = {"trials": 2, "space": {"batch_size": [8, 16], "optimizer.beta1": [0.8, 0.9]}}
    path = write(tmp_path, x={**BASE, "name": "x", "sweep": {"pretrain": search}})
    space = "sweep.pretrain.space"
    changed = [f"{space}.optimizer.learning_rate=[0.1, 0.2]", f"{space}.optimizer.beta1=[0.5, 0.6]"]
    found = load(path, changed).experiment.sweep.pretrain
    assert found and dict(found.space) == {
        "batch_size": (8, 16),
        "optimizer.beta1": (0.5, 0.6),
        "optimizer.learning_rate": (0.1, 0.2),
    }


def test_a_value_of_another_kind_replaces_that_of_the_base(tmp_path: Path) -> None:
    top = {"name": "x", "extends": "base.yaml", "pretrain": {"corpus": {"source": "wikitext9"}}}
    (problem, *_) = problems(tmp_path, x=top, base=BASE)
    assert problem.startswith("x.yaml:5: pretrain.corpus.source must be one of")


def test_fields_are_merged_into_a_value_given_by_name(tmp_path: Path) -> None:
    base = deep_merge(BASE, {"pretrain": {"corpus": "microworld", "size": "nano"}})
    top = {"pretrain": {"corpus": {"num_tokens": 9_000}, "size": {"num_layers": 1}}}
    composed = loaded(tmp_path, x={"name": "x", "extends": "base.yaml", **top}, base=base)
    pretrain = composed.arms[0].pretrain
    assert pretrain.corpus.model_dump()["num_tokens"] == 9_000
    assert (pretrain.size.num_layers, pretrain.size.hidden_size) == (1, 64)


def test_bases_extend_bases_and_later_ones_take_precedence(tmp_path: Path) -> None:
    composed = loaded(
        tmp_path,
        x={"name": "x", "extends": ["a.yaml", "b.yaml"]},
        a={"extends": "base.yaml", "pretrain": {"batch_size": 2}, "seeds": {"pretrain": 2}},
        b={"pretrain": {"batch_size": 3}},
        base=BASE,
    )
    assert composed.arms[0].pretrain.batch_size == 3
    assert composed.experiment.seeds.pretrain == (0, 1)


def test_the_name_is_not_inherited(tmp_path: Path) -> None:
    found = problems(tmp_path, x={"extends": "base.yaml"}, base={"name": "base", **BASE})
    assert found == ["x.yaml:1: name is required, but is not given"]


def test_a_problem_is_shown_where_the_value_was_given(tmp_path: Path) -> None:
    base = deep_merge(BASE, {"pretrain": {"batch_size": 0}})
    top = {"name": "x", "extends": "base.yaml", "seeds": {"pretrain": 0}}
    found = problems(tmp_path, x=top, base=base)
    assert found == [
        "x.yaml:4: seeds.pretrain must be 1 to 1000 replicates, but is 0",
        "base.yaml:12: pretrain.batch_size must be at least 1, but is 0",
    ]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"x": {"extends": "bas"}}, "x.yaml:1: extends: the file or shipped experiment 'bas' is"),
        ({"x": {"extends": 3}}, "x.yaml:1: extends must be a list, but is 3"),
        (
            {"x": {"extends": "y.yaml"}, "y": {"extends": ["x.yaml"]}},
            "y.yaml:2: extends: an experiment cannot extend itself, but does: x.yaml -> y.yaml ->",
        ),
        ({"x": {"variants": [1]}}, "x.yaml:1: variants must be a mapping"),
        ({"x": {"variants": {"v": 1}}}, "x.yaml:2: variants.v must be a mapping"),
    ],
    ids=["unknown", "no_name", "circle", "variants", "variant"],
)
def test_bad_composition(tmp_path: Path, files: dict[str, dict[str, Any]], expected: str) -> None:
    assert any(problem.startswith(expected) for problem in problems(tmp_path, **files))


VARIANTS = {
    "large": {"pretrain.size": "tiny", "seeds.pretrain": 5},
    "wide": {"pretrain.size.hidden_size": 256, "grid": {"pretrain.recipe": ["bert"]}},
    "named": {"name": "other"},
    "wrong": {"pretrain.batch_size.x": 1, "pretrain.sice": "nano"},
}
STUDY = {"name": "x", **BASE, "variants": VARIANTS}


def test_a_variant_changes_fields_and_the_name(tmp_path: Path) -> None:
    large = loaded(tmp_path, "large", x=STUDY)
    assert large.experiment.name == "x-large" and large.variants == ("large",)
    assert large.arms[0].pretrain.size.hidden_size == 128
    assert len(large.experiment.seeds.pretrain) == 5
    alone = loaded(tmp_path, x=STUDY)
    assert alone.experiment.name == "x" and alone.is_same_file(large)
    assert not alone.is_same_file(loaded(tmp_path, y={**STUDY, "name": "y"}))
    assert loaded(tmp_path, "named", x=STUDY).experiment.name == "other"


def test_variants_apply_in_their_order_and_before_overrides(tmp_path: Path) -> None:
    both = load(write(tmp_path, x=STUDY), ["seeds.pretrain=2"], ["large", "wide"])
    assert both.experiment.name == "x-large-wide"
    assert [arm.name for arm in both.arms] == ["bert"]
    assert (both.arms[0].pretrain.size.hidden_size, both.experiment.seeds.pretrain) == (256, (0, 1))


def test_the_fields_that_variants_change_are_known(tmp_path: Path) -> None:
    variants = {
        "long": {"pretrain": {"optimizer": {"beta2": 0.9, "learning_rate": 0.001}}},
        "short": {"pretrain.budget": {"steps": 7}},
    }
    study = {"name": "x", **BASE, "grid": {}, "variants": variants}
    found = loaded(tmp_path, "long", "short", x=study)
    assert found.source and found.source.varied == {
        "long": {"pretrain.optimizer.beta2": (None, 0.9)},  # the rate is that of the base
        "short": {"pretrain.budget.tokens": (1_000, None), "pretrain.budget.steps": (None, 7)},
    }


def test_a_wrong_variant(tmp_path: Path) -> None:
    (unknown,) = problems(tmp_path, "larg", x=STUDY)
    assert unknown.startswith("--variant larg: the variant 'larg' is not known; did you mean")
    first, second = problems(tmp_path, "wrong", x={**STUDY, "pretrain": {"batch_size": 4}})
    assert first.endswith("pretrain.batch_size.x is inside a value without fields")
    assert "'sice' is not known; did you mean 'size'" in second


SWEPT = {
    "name": "x",
    "question": "Which?",
    "pretrain": BASE["pretrain"],
    "evaluate": {"tasks": ["micro-sst2"]},
    "sweep": {"trials": 4, "space": {"learning_rate": [1e-4, 1e-3]}},
}


def test_a_variant_replaces_the_space_and_can_remove_the_search(tmp_path: Path) -> None:
    variants = {
        "epochs": {"sweep": {"space": {"epochs": [3, 5]}}},
        "both": {"sweep.space.epochs": [3, 5]},
        "none": {"sweep": None},
    }
    found = {
        name: loaded(tmp_path, name, x={**SWEPT, "variants": variants}).experiment.sweep
        for name in variants
    }
    assert list(found["epochs"].space) == ["epochs"] and found["epochs"].trials == 4
    assert list(found["both"].space) == ["learning_rate", "epochs"]
    assert found["none"].trials == 0


@pytest.mark.parametrize(
    "path", ["evaluate.finetune.learning_rate", "arms.x.evaluate.finetune.learning_rate"]
)
def test_a_change_of_a_searched_setting_is_refused(tmp_path: Path, path: str) -> None:
    file = write(tmp_path, x=SWEPT)
    with pytest.raises(DeclarationError, match="has no effect: the sweep searches learning_rate"):
        load(file, [f"{path}=1e-5"])
    assert load(file, [f"{path}=1e-5", "sweep=null"]).arms[0].evaluate.finetune.learning_rate > 0
    assert load(file, ["evaluate.finetune.epochs=7"]).arms[0].evaluate.finetune.epochs == 7


def test_settings_of_an_intermediate_task_are_not_searched(tmp_path: Path) -> None:
    evaluate = {"tasks": ["micro-sst2"], "intermediate_tasks": [{"task": "micro-rte"}]}
    file = write(tmp_path, x={**SWEPT, "evaluate": evaluate})
    assert load(file, ["evaluate.finetune.learning_rate=1e-5"])


GRID = {
    "pretrain.recipe": ["bert", "roberta"],
    "pretrain.objective.transform.mask_rate": [0.15, 0.3],
}
ONE = "bert/mask_rate=0.3"


def test_one_arm_is_changed_by_its_name(tmp_path: Path) -> None:
    variants = {"v": {"arms": {ONE: {"pretrain.batch_size": 8}}}, "w": {"arms.bort.pretrain.x": 1}}
    study = {"name": "x", **BASE, "grid": GRID, "variants": variants}
    path = write(tmp_path, x=study)
    by_option = load(path, [f"arms.{ONE}.pretrain.batch_size=8"])
    for found in (by_option, load(path, variants=["v"])):
        changed = {arm.name: arm.pretrain.batch_size for arm in found.arms}
        assert changed.pop(ONE) == 8
        assert len(changed) == 3 and 8 not in changed.values()
        make_plan(found)  # the change is declared
    fields = {field.path: field for field in arm_fields(by_option, by_option.arms[1])}
    assert fields["pretrain.batch_size"].origin == f"--set arms.{ONE}.pretrain.batch_size=8"
    (unknown,) = problems(tmp_path, "w", x=study)
    assert "arms: the arm 'bort' is not known; " in unknown
    with pytest.raises(DeclarationError, match=r"evaluate\.suite must be the same for all arms"):
        load(path, [f"arms.{ONE}.evaluate.suite=micro-glue-v2"])


def test_a_problem_of_some_arms_names_them(tmp_path: Path) -> None:
    path = write(tmp_path, x={"name": "x", **BASE, "grid": GRID})
    with pytest.raises(DeclarationError, match=f"must be at least 1, but is 0 .arm '{ONE}'.$"):
        load(path, [f"arms.{ONE}.pretrain.batch_size=0"])
    with pytest.raises(DeclarationError, match=r"must be at least 1, but is 0$"):
        load(path, ["pretrain.batch_size=0"])
    with pytest.raises(DeclarationError, match=r"--set .*, but it is causal \(arm 'gpt2'\)$"):
        load(path, ["pretrain.objective.output=replaced_token", "grid={a: {bert: "
                    "{pretrain.recipe: bert}, gpt2: {pretrain.recipe: gpt2}}}"])  # fmt: skip


def test_a_plan_names_invalid_variants(tmp_path: Path) -> None:
    path = write(tmp_path, x={**STUDY, "name": "x"})
    (first, *_) = found = list(variant_problems(load(path)))
    assert all(problem.startswith(f"variant wrong: {path}:") for problem in found)
    assert first in CliRunner().invoke(app, ["plan", str(path)]).output
    assert not list(variant_problems(load(path, variants=["large"])))


def test_every_field_has_an_origin(tmp_path: Path) -> None:
    path = write(tmp_path, x={"name": "x", "extends": "base.yaml"}, base=BASE)
    declaration = load(path, ["seeds.pretrain=2"])
    origins = {field.path: field.origin for field in experiment_fields(declaration)}
    assert origins["name"] == f"{path}:1"
    assert origins["seeds.pretrain"] == "--set seeds.pretrain=2"
    assert origins["sweep.trials"] == "default"
    arm = declaration.arms[1]
    fields = {field.path: field for field in arm_fields(declaration, arm)}
    base = tmp_path / "base.yaml"
    assert fields["pretrain.optimizer.learning_rate"].origin == f"{base}:9"
    assert fields["pretrain.size.hidden_size"].origin == f"{base}:4"  # by name
    assert fields["pretrain.optimizer.beta2"].origin == "recipe roberta"
    assert fields["pretrain.optimizer.beta2"].value == arm.pretrain.optimizer.beta2
    budget = fields["pretrain.budget.tokens"]
    assert (budget.value, budget.origin) == (2_000, f"{base}:15")  # the axis
    assert fields["evaluate.protocol.num_beams"].origin == "default"


def test_resolved_fields_on_the_command_line() -> None:
    result = CliRunner().invoke(app, ["plan", "quickstart", "--resolved", "--variant", "large"])
    assert result.exit_code == 0
    lines = [line.split("  # ") for line in result.output.splitlines()]
    found = {text.strip(): origin for text, *rest in lines for origin in rest}
    assert found["pretrain.optimizer.learning_rate: 0.002"].endswith("quickstart.yaml:20")
    assert 'name: "quickstart-large"' in found
    assert "# arm scratch" in result.output


@pytest.mark.parametrize(
    "change", [{"pretrain.budget": {"tokens": 0}}, {"pretrain.budget.tokens": 0}]
)
def test_a_budget_of_an_arm_may_have_another_unit(change: dict[str, Any]) -> None:
    declared = from_data(
        {
            "name": "x",
            "question": "?",
            "pretrain": {"recipe": "bert", "size": "nano", "budget": {"steps": 500}},
            "grid": {"arm": {"bert": {}, "scratch": change}},
        }
    )
    bert, scratch = (arm.pretrain.budget for arm in declared.arms)
    assert bert.steps == 500 and (scratch.tokens, scratch.steps) == (0, None)


@pytest.mark.parametrize(
    "override",
    [
        "pretrain.objective.transform.mask_rate=0.4",
        "pretrain.recipe=electra",
    ],
)
def test_a_change_of_a_field_that_every_arm_sets_is_refused(tmp_path: Path, override: str) -> None:
    path, _, _ = override.partition("=")
    file = write(tmp_path, x={"name": "x", **BASE, "grid": GRID})
    message = f"{path} has no effect: grid.{path} sets it in every arm; change it there"
    with pytest.raises(DeclarationError, match=re.escape(message)):
        load(file, [override])
    assert load(file, [override, "grid={}"])


def test_a_change_is_allowed_if_it_has_an_effect_on_one_arm(tmp_path: Path) -> None:
    grid = {"arm": {"a": {"pretrain.batch_size": 4}, "b": {"pretrain.recipe": "roberta"}}}
    file = write(tmp_path, x={"name": "x", **BASE, "grid": grid})
    arms = load(file, ["pretrain.batch_size=16"]).arms
    assert [arm.pretrain.batch_size for arm in arms] == [4, 16]
    own = {"b": {"pretrain.batch_size": 8}}
    file = write(tmp_path, x={"name": "x", **BASE, "grid": grid, "arms": own})
    with pytest.raises(DeclarationError, match=r"no effect: grid\.arm, arms\.b sets it"):
        load(file, ["pretrain.batch_size=16"])


def test_budgets_of_arms_replace_a_changed_one_of_another_unit(tmp_path: Path) -> None:
    grid = {"pretrain.budget.tokens": [1_000, 2_000]}
    file = write(tmp_path, x={"name": "x", **BASE, "grid": grid})
    with pytest.raises(DeclarationError, match=r"budget\.steps has no effect: grid\.pretrain"):
        load(file, ["pretrain.budget.steps=10"])


def test_fields_beside_those_that_an_axis_sets_can_be_changed(tmp_path: Path) -> None:
    betas = {
        name: {"pretrain.optimizer": {"beta2": beta}} for name, beta in (("a", 0.9), ("b", 0.98))
    }
    grid = {"optimizer": betas}
    file = write(tmp_path, x={"name": "x", **BASE, "grid": grid})
    change = "pretrain.optimizer={learning_rate: 5e-4}"
    assert {arm.pretrain.optimizer.learning_rate for arm in load(file, [change]).arms} == {5e-4}
