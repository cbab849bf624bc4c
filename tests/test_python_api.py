"""`import harness`: experiments declared in Python, and plug-ins."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import pytest
import torch
from pytorch_lightning.loggers import CSVLogger

import harness
from harness.execution.execution_result import Execution
from harness.experiment import plugins
from harness.experiment.declaration import load
from harness.models import SIZES
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms.order import Identity, identity
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.tasks import TASKS
from harness.tasks.load_examples import load_examples

NANO = SIZES["nano"]
EXPERIMENT: dict[str, Any] = {
    "name": "declared",
    "question": "Does it run?",
    "pretrain": {
        "recipe": "roberta",
        "size": {"num_layers": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 32},
        "corpus": {"source": "microworld", "num_tokens": 20_000},
        "tokenizer": {"vocab_size": 600},
        "phases": [{"fraction": 1, "sequence_length": 32}],
        "batch_size": 4,
        "budget": {"tokens": 512},
    },
    "evaluate": {
        "suite": "micro-glue-v1",
        "tasks": ["micro-sst2"],
        "protocol": {"max_train_examples": 32, "max_sequence_length": 32},
        "finetune": {"epochs": 1},
    },
}

MODULE = """
import pytorch_lightning as pl

from harness import Metric, PretrainingModule
from harness.tasks.metrics import METRICS as KNOWN
from harness.tasks import TASKS as KNOWN_TASKS


class Doubled(PretrainingModule):
    def loss(self, part, step):
        return 2 * super().loss(part, step)


class Counter(pl.Callback):
    def on_fit_start(self, trainer, module):
        with open(r"{log}", "a") as log:
            log.write(type(module).__name__ + " ")


MODULES = {{"doubled": Doubled}}
CALLBACKS = {{"counter": Counter}}
TASKS = {{"my-task": KNOWN_TASKS["micro-sst2"].model_copy(update={{"name": "my-task"}})}}
"""


pytestmark = pytest.mark.usefixtures("forget_plugins")


def changed(**pretrain: Any) -> dict[str, Any]:
    return {**EXPERIMENT, "pretrain": {**EXPERIMENT["pretrain"], **pretrain}}


def test_a_declared_experiment_equals_a_file(tmp_path: Path) -> None:
    import yaml

    path = tmp_path / "x.yaml"
    path.write_text(yaml.safe_dump(EXPERIMENT))
    declared = harness.declare(EXPERIMENT).declaration
    assert declared.resolved() == load(path).resolved()
    assert harness.declare(declared.experiment).declaration.resolved() == declared.resolved()


def test_values_may_be_objects() -> None:
    evaluate = {
        **EXPERIMENT["evaluate"],
        "protocol": harness.Protocol(max_train_examples=32, max_sequence_length=32),
        "finetune": harness.Finetune(epochs=1),
    }
    study = harness.declare({**EXPERIMENT, "evaluate": evaluate})
    assert study.plan.stages.keys() == harness.declare(EXPERIMENT).plan.stages.keys()


def test_errors_are_those_of_a_file() -> None:
    with pytest.raises(ValueError, match="did you mean 'size'") as caught:
        harness.declare({**changed(sice=1), "seeds": {"pretrain": 0}})
    assert str(caught.value).splitlines()[0] == (
        "experiment: seeds.pretrain must be 1 to 1000 replicates, but is 0"
    )


def test_public_names() -> None:
    assert set(harness.__all__) <= set(dir(harness))
    assert all(inspect.getdoc(getattr(harness, name)) for name in harness.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        harness.nothing  # noqa: B018


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str = "a_plugin") -> Path:
    log = folder / "log.txt"
    (folder / f"{name}.py").write_text(MODULE.format(log=log))
    monkeypatch.syspath_prepend(folder)
    return log


def test_a_module_plugs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = install(tmp_path, monkeypatch)
    grid = {"grid": {"pretrain.module": [None, "doubled"]}}
    evaluate = {**EXPERIMENT["evaluate"], "suite": {"name": "my-suite", "tasks": ["my-task"]}}
    del evaluate["tasks"]
    experiment = {**EXPERIMENT, **grid, "evaluate": evaluate}
    study = harness.declare(experiment, plugins=["a_plugin"], store=tmp_path / "runs")
    done: Execution = study.run(executor="serial").last_run
    assert not done.failed and log.read_text().split().count("Doubled") == 1
    losses = [
        done.finished[study.plan.pretrain_keys[arm.name, 0]].metrics["train_loss"]
        for arm in study.plan.arms
    ]
    assert losses[1] == pytest.approx(2 * float(losses[0] or 0), rel=0.1)
    assert list(study.leaderboard()["arm"]) == ["module=null", "doubled"]
    model, tokenizer = study.model("doubled")
    logits = model(**tokenizer("the food is good", return_tensors="pt")).logits
    assert logits.shape[-1] == len(tokenizer) and torch.isfinite(logits).all()
    figures = study.figures()
    assert {"differences", "loss"} <= figures.keys()
    assert all("<svg" in figure._repr_svg_() for figure in figures.values())
    again = harness.declare(experiment, plugins=["a_plugin"], store=tmp_path / "runs")
    assert again.run(executor="serial").last_run.computed == []


@pytest.mark.parametrize("adaptation", ["lora", "dora", "vera"])
def test_a_finetuned_model_predicts_what_its_run_predicted(tmp_path: Path, adaptation: str) -> None:
    evaluate = {**EXPERIMENT["evaluate"], "save_weights": True, "adaptation": adaptation}
    study = harness.declare({**EXPERIMENT, "evaluate": evaluate}, store=tmp_path)
    with pytest.raises(ValueError, match="is not finished"):
        study.finetuned("micro-sst2")
    study.run(executor="serial")
    found = study.finetuned("micro-sst2")
    examples = load_examples(found.task, found.task.evaluation[0])
    (run,) = study.plan.finetune_runs
    record = study.store.find(run.key)
    assert record is not None
    stored = pd.read_parquet(study.store.files(record) / "predictions.parquet")
    assert found.predictor(examples).tolist() == stored["prediction"].tolist()
    names = [found.task.labels[int(one)] for one in stored["prediction"]]
    assert found.predict([text for (text,) in examples.texts]) == names
    assert found.predict([]) == []
    with pytest.raises(ValueError, match=r"'micro-cola' is not known; .*micro-sst2"):
        study.finetuned("micro-cola")
    with pytest.raises(ValueError, match="the arm 'no' is not known"):
        study.finetuned("micro-sst2", arm="no")
    with pytest.raises(ValueError, match=r"seed\) must be \(0, 0\), but is \(5, 0\)"):
        study.finetuned("micro-sst2", pretrain_seed=5)


@pytest.mark.parametrize("given", [[1], "quickstart", None])
def test_an_experiment_that_is_no_mapping_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="must be a mapping with name, question and pretrain, but"):
        harness.declare(given)


def test_the_source_of_a_plugin_is_part_of_the_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget_plugins: Callable[[], None]
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # which a fast edit would not outdate
    install(tmp_path, monkeypatch, "one_plugin")
    plain = harness.declare(EXPERIMENT).plan
    first = harness.declare(EXPERIMENT, plugins=["one_plugin"]).plan
    kinds = {stage.kind for key, stage in first.stages.items() if key in plain.stages}
    assert kinds == {"tokenizer", "tokenize"}
    digest = plugins.load_plugin("one_plugin")
    with (tmp_path / "one_plugin.py").open("a") as file:
        file.write("# another version\n")
    forget_plugins()
    second = harness.declare(EXPERIMENT, plugins=["one_plugin"]).plan
    assert second.stages.keys() & first.stages.keys() == {
        key for key, stage in first.stages.items() if stage.kind in kinds
    }
    with pytest.raises(ValueError, match="has changed: plan again"):
        plugins.require({"one_plugin": digest})


PARTS = {
    "a_transform": """
from typing import Literal
from harness import Transform
from harness.pretraining.objectives.transforms.masking import TokenMasking, token_masking

class Mine(Transform):
    kind: Literal["mine"] = "mine"

TRANSFORMS = {Mine: lambda settings, *rest: token_masking(TokenMasking(), *rest)}
COMBINATIONS = [("masked_token", ("bidirectional",), ("mine",))]
""",
    "a_module": """
import shared_plugin
from harness import PretrainingModule

MODULES = {"plain": type("Plain", (PretrainingModule,), {})}
""",
    "shared_plugin": "PROBES = {}",
    "a_metric": """
from harness.tasks import TASKS as SHIPPED
from harness.tasks.metrics.metric import mean_metric

METRICS = {"right": mean_metric("right", lambda labels, given, *_: labels == given)}
TASKS = {"mine": SHIPPED["micro-sst2"].model_copy(update={"name": "mine", "metrics": ("right",)})}
""",
}
USES = {
    "a_transform": ({"mine"}, {"micro-sst2", "mine"}),
    "a_module": ({"plain"}, {"micro-sst2", "mine"}),
    "shared_plugin": ({"plain"}, {"micro-sst2", "mine"}),  # the module imports it
    "a_metric": (set(), {"mine"}),
}
"""Plug-in to the arms whose pretraining it changes, and the tasks; `none` uses none."""


def test_a_plugin_is_part_of_the_keys_of_the_stages_that_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget_plugins: Callable[[], None]
) -> None:
    """Each is changed in turn."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    for one, text in PARTS.items():
        (tmp_path / f"{one}.py").write_text(text)
    grid = {
        "arm": {
            "none": {},
            "mine": {"pretrain.objective.transform": "mine"},
            "plain": {"pretrain.module": "plain"},
        }
    }
    suite = {"name": "two", "tasks": ["micro-sst2", "mine"]}
    experiment = {**EXPERIMENT, "grid": grid, "evaluate": {"suite": suite}}
    first = harness.declare(experiment, plugins=[*PARTS]).plan
    for name, (arms, tasks) in USES.items():
        with (tmp_path / f"{name}.py").open("a") as file:
            file.write("# another version\n")
        forget_plugins()
        second = harness.declare(experiment, plugins=[*PARTS]).plan
        known = second.stages.keys()
        pretrained = {arm for (arm, _), key in first.pretrain_keys.items() if key not in known}
        assert pretrained == arms, name
        changed = {(one.arm, one.task) for one in first.finetune_runs if one.key not in known}
        assert changed == {
            (one.arm, one.task)
            for one in first.finetune_runs
            if one.arm in arms or (not arms and one.task in tasks)
        }, name
        first = second


def test_an_object_plugs_in_and_runs_in_this_process(tmp_path: Path) -> None:
    class Mine:
        SIZES: ClassVar = {
            "narrow": NANO.model_copy(update={"num_layers": 1, "hidden_size": 16, "num_heads": 2})
        }

    class Display:
        LOGGERS: ClassVar = {"mine": lambda target: CSVLogger(target.folder, target.path)}

    compute = {"loggers": ["mine", "mlflow"]}
    experiment = {**changed(size="narrow"), "compute": compute}
    study = harness.declare(experiment, plugins=[Mine, Display], store=tmp_path)
    keys = harness.declare(changed(size="narrow"), plugins=[Mine]).plan.stages.keys()
    assert study.plan.stages.keys() == keys  # a logger changes no result
    assert study.plan.arms[0].pretrain.size.hidden_size == 16
    assert all(plugins.needs_this_process(name) for name in study.experiment.plugins)
    done = study.run().last_run
    assert not done.failed and done.finished.keys() == study.plan.stages.keys()
    logged = sorted(path.parts[-3] for path in tmp_path.glob("logs/declared/*/*/metrics.csv"))
    assert logged == [
        "finetune declared, micro-sst2, seed 0, fine-tuning seed 0",
        "pretrain declared, seed 0",
    ]
    assert {run.tags["kind"] for run in study.store.tracked("declared")} == {
        *("arm", "tokenizer", "tokenize", "pretrain", "finetune")
    }


def test_an_entry_point_plugs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "pointed_plugin")
    with (tmp_path / "pointed_plugin.py").open("a") as file:
        file.write("from harness.models import SIZES as KNOWN\n")
        file.write("class Mine:\n    SIZES = {'narrow': KNOWN['nano']}\n")
    point = EntryPoint("short-name", "pointed_plugin:Mine", plugins.ENTRY_POINTS)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    plugins.load_plugin("short-name")
    assert "narrow" in SIZES and "my-task" not in TASKS


def test_extends_and_variants_in_python() -> None:
    data = {"name": "mine", "extends": "smoke", "variants": {"more": {"seeds.pretrain": 3}}}
    study = harness.declare(data, variants=["more"])
    assert (study.name, study.experiment.seeds.pretrain) == ("mine-more", (0, 1, 2))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("no_such_module", "experiment: plugins: the plug-in 'no_such_module' cannot be imported"),
        ("json", "experiment: plugins: the plug-in 'json' must have a dict named TRANSFORMS, "),
        ("sys", "experiment: plugins: the source of the plug-in 'sys' cannot be read: it has no"),
        ("broken_plugin", "experiment: plugins: the plug-in 'broken_plugin' cannot be imported: "),
        ("a_script", "experiment: plugins: the plug-in 'a_script' cannot be imported: SystemExit"),
    ],
)
def test_what_is_no_plugin_is_refused(
    name: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_plugin.py").write_text("SIZES = {")
    (tmp_path / "a_script.py").write_text("raise SystemExit(0)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        harness.declare({**EXPERIMENT, "plugins": [name]})
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"SIZES": {"nano": 1}}, r"SIZES: 'nano' is the name of another member"),
        ({"SIZES": [1]}, r"SIZES must be a dict, but is a list"),
        ({"METRICS_OF_KIND": {"klass": ("f1",)}}, r"the kind of task 'klass' is not known"),
    ],
    ids=["taken", "no_dict", "no_kind"],
)
def test_a_wrong_member_is_refused_before_any_is_added(
    members: dict[str, Any], expected: str
) -> None:
    plugin = type("Plugin", (), {"OBJECTIVES": {"mine": OBJECTIVES["mlm"]}, **members})
    with pytest.raises(ValueError, match=expected):
        plugins._add("wrong", plugin, b"")
    assert "mine" not in OBJECTIVES and "wrong" not in plugins._loaded


class Backwards(harness.Transform):
    """Hidden tokens are all of the text, read backwards."""

    kind: Literal["backwards"] = "backwards"


def backwards(
    settings: Backwards, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> harness.TransformResult:
    """The rows with their tokens in the opposite order; each is predicted from the other."""
    result = identity(Identity(), rows, rng, vocabulary)
    return replace(result, inputs=result.inputs[:, ::-1].copy())


def test_an_objective_function_plugs_in(tmp_path: Path) -> None:
    class Mine:
        TRANSFORMS: ClassVar = {Backwards: backwards}
        COMBINATIONS: ClassVar = [("next_token", ("causal",), ("backwards",))]

    objective = {"transform": "backwards", "representation": "causal", "output": "next_token"}
    study = harness.declare(changed(recipe="gpt2", objective=objective), plugins=[Mine])
    transform: Any = study.plan.arms[0].pretrain.objectives[0].transform
    assert isinstance(transform, Backwards)
    with pytest.raises(ValueError, match=r"pretrain\.objective\.transform\.kind must be one of"):
        harness.declare(changed(objective={"transform": "forwards"}))
