"""JSON schema of experiment files, with which editors complete, describe and check fields."""

import ast
import inspect
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from harness.core.config import ConfigModel
from harness.data.corpora import CORPORA
from harness.data.corpora.sources import HubCorpus
from harness.experiment.checks.grid import FIXED_FIELDS
from harness.experiment.composition import Composition
from harness.experiment.experiment import Experiment
from harness.experiment.recipe_defaults import NAMED, ROLES
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.continued_pretraining import TEXTS
from harness.finetuning.diagnostics import DIAGNOSTICS
from harness.finetuning.protocol import Finetune
from harness.finetuning.search.space import ADAPTATION, ADAPTATION_PREFIX
from harness.finetuning.search.sweep import SPACES
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks import SUITES, TASKS
from harness.tasks.probes import PROBES

WRITTEN_OUT = {"type": "string", "pattern": "^[0-9]+(_[0-9]+)+$|^[0-9]+([.][0-9]+)?[kMBG]$"}
"""`1_000_000` and `1M`: whole numbers in the harness, but strings in most editors."""

Schema = dict[str, Any]


class _WithDocstrings(GenerateJsonSchema):
    """Describes fields by their docstrings. pydantic's `use_attribute_docstrings` reads them at
    every import, which takes a tenth of the time of `harness plan`."""

    def model_schema(self, schema: ModelSchema) -> Schema:
        found, model = super().model_schema(schema), schema["cls"]
        for owner in reversed(model.__mro__[: model.__mro__.index(ConfigModel)]):
            (definition,) = ast.parse(dedent(inspect.getsource(owner))).body
            for field, text in pairwise(ast.iter_child_nodes(definition)):
                match field, text:
                    case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(docstring))):
                        if name in found.get("properties", {}):
                            found["properties"][name]["description"] = inspect.cleandoc(docstring)
        return found


def json_schema() -> Schema:
    """The schema. It accepts some invalid experiments, such as grids with identical arms."""
    schema = _schema(Experiment)
    schema["properties"] |= _schema(Composition)["properties"]
    schema.pop("required", None)  # a base may provide required fields
    definitions = schema["$defs"] | _schema(Pretrain)["$defs"]
    pretrain = definitions["Pretrain"]
    definitions["Pretrain"] = named = _pretrain(pretrain)
    fields = schema["properties"]
    description = fields["pretrain"]["description"]
    fields["pretrain"] = {"$ref": "#/$defs/Pretrain", "description": description}
    axes: dict[str, list[Schema]] = {}
    for path, field in (
        *_leaves("pretrain", pretrain["properties"], definitions),
        *_leaves("evaluate", definitions["Evaluate"]["properties"], definitions),
    ):
        axes.setdefault(path, []).append(field)
    axes |= {f"pretrain.{name}": [named["properties"][name]] for name in NAMED}
    fields["grid"]["properties"] = {
        path: _axis(kinds) for path, kinds in axes.items() if path not in FIXED_FIELDS
    }
    del definitions["Size"]["required"]  # the size of the recipe provides the others
    evaluate = definitions["Evaluate"]["properties"]
    evaluate["suite"]["oneOf"][0]["enum"] = list(SUITES)
    evaluate["adaptation"] = _or_name(evaluate["adaptation"], ADAPTATIONS)
    names = {"anyOf": [{"enum": list(TASKS)}, {"type": "string"}]}  # or a task of a custom suite
    evaluate["tasks"]["anyOf"][0]["items"] = names
    _infer_tasks(evaluate["tasks"], definitions)
    evaluate["diagnostics"]["items"] = {"enum": list(DIAGNOSTICS)}
    evaluate["probes"]["items"] = {"enum": list(PROBES)}
    before = definitions["IntermediateTask"]["properties"]
    before["target_tasks"]["anyOf"][0]["items"] = names
    several = {"type": "array", "items": names, "minItems": 2}
    about = {"description": before["task"]["description"]}
    before["task"] = {"anyOf": [*names["anyOf"], several], **about}
    _name_texts(definitions["ContinuedPretraining"]["properties"])
    auxiliary = definitions["AuxiliaryObjective"]["properties"]
    auxiliary["objective"] = _or_name(auxiliary["objective"], OBJECTIVES)
    _name_sources(definitions["HubCorpus"])
    definitions["CustomSuite"]["properties"]["tasks"]["items"]["oneOf"][0]["enum"] = list(TASKS)
    _name_spaces(definitions["Sweep"]["properties"]["space"])
    tidy = _tidy({**schema, "$defs": definitions})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **tidy}


def _schema(model: type[ConfigModel]) -> Schema:
    return model.model_json_schema(schema_generator=_WithDocstrings)


def _pretrain(schema: Schema) -> Schema:
    """`pretrain` with optional fields, because the recipe provides the others, and with names."""
    fields = dict(schema["properties"])
    fields["recipe"] = {**fields["recipe"], "enum": list(RECIPES)}
    for name, registry in NAMED.items():
        fields[name] = _or_name(fields[name], registry)
    return {"type": "object", "additionalProperties": False, "properties": fields}


def _or_name(field: Schema, registry: Iterable[str]) -> Schema:
    """The schema of a field that also accepts the names of a registry."""
    value = {key: part for key, part in field.items() if key not in ("description", "default")}
    about = {"description": field["description"]} if "description" in field else {}
    return {"anyOf": [{"enum": list(registry)}, value], **about}


def _leaves(prefix: str, fields: Schema, definitions: Schema) -> Iterator[tuple[str, Schema]]:
    """(dotted path, schema) of each field, and of the fields within it."""
    for name, field in fields.items():
        path = f"{prefix}.{name}"
        yield path, field
        if name not in ROLES:  # nested runs, which would recurse without end
            for option in _options(field):
                inner = definitions.get(option.get("$ref", "").rpartition("/")[2], {})
                yield from _leaves(path, inner.get("properties", {}), definitions)


def _options(field: Schema) -> Iterator[Schema]:
    """The schemas that a value of a field may match."""
    yield field
    for option in (*field.get("oneOf", ()), *field.get("anyOf", ())):
        yield from _options(option)


def _axis(kinds: list[Schema]) -> Schema:
    """The schema of an axis: a list of values, which match any schema of the field."""
    options = []
    for field in kinds:
        plain = {key: part for key, part in field.items() if key not in ("default", "description")}
        if plain not in options:
            options.append(plain)
    items = options[0] if len(options) == 1 else {"anyOf": options}
    axis = {"type": "array", "minItems": 1, "items": items}
    return axis | ({"description": kinds[0]["description"]} if "description" in kinds[0] else {})


def _infer_tasks(tasks: Schema, definitions: Mapping[str, Schema]) -> None:
    """Accepts tasks by name, and tasks whose other fields are inferred from their files."""
    task = {"anyOf": [{"$ref": "#/$defs/Task"}, {"type": "null"}]}
    tasks["anyOf"].insert(1, {"type": "object", "minProperties": 1, "additionalProperties": task})
    definitions["Task"]["required"] = ["data"]
    definitions["FileData"]["required"] = ["files"]
    data = definitions["Task"]["properties"]["data"]
    data["anyOf"] = [{"type": "string"}, *data.pop("oneOf")]
    data["description"] = "A data set, its name in a plug-in, or the path of a train file."


def _name_texts(continued: Schema) -> None:
    """Accepts names of corpora, for all tasks or for one."""
    for_all, by_task = continued["corpus"].pop("oneOf")
    by_task["additionalProperties"] = _or_name(by_task["additionalProperties"], TEXTS)
    about = {"description": continued["corpus"]["description"]}
    continued["corpus"] = {"anyOf": [{"enum": list(TEXTS)}, for_all, by_task], **about}
    continued["objective"] = _or_name(continued["objective"], OBJECTIVES)


def _name_sources(hub: Schema) -> None:
    """Accepts the name of a corpus as its source, with which all other fields are optional."""
    on_hub = [name for name, corpus in CORPORA.items() if isinstance(corpus, HubCorpus)]
    source = hub["properties"]["source"]
    source["enum"] = [source.pop("const"), *on_hub]
    hub["required"] = ["source"]


def _name_spaces(space: Schema) -> None:
    """Accepts names of spaces; of a space, the names of all hyperparameters."""
    adaptation_fields = {
        f"{ADAPTATION_PREFIX}{field}": None  # an ordered set
        for adaptation in ADAPTATIONS.values()
        for field in type(adaptation).model_fields
        if field != "kind"
    }
    for option in space["anyOf"]:
        if option["type"] == "string":
            option["enum"] = list(SPACES)
        else:
            names = [*Finetune.model_fields, ADAPTATION, *adaptation_fields]
            option["propertyNames"] = {"enum": names}


def _tidy(schema: Any) -> Any:
    """Removes the titles made by pydantic, and accepts integers as in WRITTEN_OUT."""
    if isinstance(schema, list):
        return [_tidy(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    tidy = {
        key: _tidy(part)
        for key, part in schema.items()
        if not (key == "title" and isinstance(part, str)) and key != "discriminator"
    }
    if tidy.get("type") != "integer":
        return tidy
    if "ge" in tidy:  # pydantic's name where a count may be null, which no editor knows
        tidy["minimum"] = tidy.pop("ge")
    outer = {key: tidy.pop(key) for key in ("description", "default") if key in tidy}
    return {"anyOf": [tidy, WRITTEN_OUT], **outer}
