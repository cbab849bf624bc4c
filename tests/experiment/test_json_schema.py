"""The JSON schema for editors."""

import json
from collections.abc import Iterator
from typing import Any

import yaml

from harness.experiment.composition import Composition
from harness.experiment.experiment import Experiment
from harness.experiment.json_schema import json_schema
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.diagnostics import DIAGNOSTICS
from harness.finetuning.protocol import Finetune
from harness.finetuning.search.sweep import SPACES
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks import TASKS
from harness.tasks.probes import PROBES
from tests.paths import EXPERIMENTS, ROOT

FOLDER = ROOT / "experiments"
SCHEMA = json_schema()


def test_the_shipped_schema_is_current() -> None:
    shipped = json.loads((FOLDER / "experiment.schema.json").read_text())
    assert shipped == SCHEMA, "run `make schema`"


def test_every_field_is_in_the_schema() -> None:
    fields = {**Experiment.model_fields, **Composition.model_fields}
    assert SCHEMA["properties"].keys() == fields.keys()
    pretrain = SCHEMA["$defs"]["Pretrain"]
    assert pretrain["properties"].keys() == Pretrain.model_fields.keys()
    assert "required" not in pretrain
    assert pretrain["properties"]["recipe"]["enum"] == list(RECIPES)


def test_every_reference_is_defined() -> None:
    targets = {reference.removeprefix("#/$defs/") for reference in _references(SCHEMA)}
    assert targets <= SCHEMA["$defs"].keys()


def test_counts_that_may_be_null_keep_their_bound() -> None:
    counts, _ = SCHEMA["$defs"]["Multitask"]["properties"]["max_examples"]["anyOf"]
    assert counts["anyOf"][0] == {"minimum": 1, "type": "integer"}


def test_axes_of_shipped_experiments_are_listed() -> None:
    listed = SCHEMA["properties"]["grid"]["properties"]
    for path in EXPERIMENTS:
        for axis, values in yaml.safe_load(path.read_text()).get("grid", {}).items():
            assert axis in listed or isinstance(values, dict)


def test_names_are_listed() -> None:
    evaluate = SCHEMA["$defs"]["Evaluate"]["properties"]
    before = SCHEMA["$defs"]["IntermediateTask"]["properties"]
    assert evaluate["diagnostics"]["items"]["enum"] == list(DIAGNOSTICS)
    assert evaluate["probes"]["items"]["enum"] == list(PROBES)
    assert evaluate["adaptation"]["anyOf"][0]["enum"] == list(ADAPTATIONS)
    assert before["task"]["anyOf"][0]["enum"] == list(TASKS)
    assert before["target_tasks"]["anyOf"][0]["items"]["anyOf"][0]["enum"] == list(TASKS)


def test_all_hyperparameters_are_listed() -> None:
    """Fields of fine-tuning and of every adaptation, and those of all named spaces."""
    _, fields = SCHEMA["$defs"]["Sweep"]["properties"]["space"]["anyOf"]
    listed = set(fields["propertyNames"]["enum"])
    assert set(Finetune.model_fields) < listed
    assert {"adaptation.rank", "adaptation.length", "adaptation.top_layers"} < listed
    assert all(set(space) <= listed for space in SPACES.values())
    assert "adaptation.kind" not in listed


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"]
        for part in schema.values():
            yield from _references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _references(part)
