"""What a list of each registry shows of its members."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

Columns = dict[str, Any]
"""Name of a column to its value: text, a number, or null."""


def columns_of(registry: str, name: str, member: Any) -> Columns:
    """What a list shows of one member besides its name."""
    return COLUMNS.get(registry, _about)(name, member)


def _recipe(name: str, recipe: Any) -> Columns:
    from harness.pretraining.recipes.sources import recipe_source

    objective = recipe.objective.formula
    return {"family": recipe.model.family, "objective": objective, "source": recipe_source(name)}


def _objective(name: str, objective: Any) -> Columns:
    transform = getattr(objective, "transform", None)  # a mixture has several
    return {"objective": objective.formula, "settings": _set(transform) if transform else ""}


def _corpus(name: str, corpus: Any) -> Columns:
    from harness.data.corpora import FACTS

    known = FACTS.get(name)
    return {
        "text": known.title if known else _set(corpus) or corpus.source,
        "size": known.size if known else "",
        "licence": known.licence if known else "",
        "original": known.stands_for if known else "",
    }


def _tokenizer(name: str, tokenizer: Any) -> Columns:
    fields = {"algorithm": tokenizer.algorithm, "vocabulary": tokenizer.vocab_size}
    return {**fields, "lowercase": "yes" if tokenizer.lowercase else "no"}


def _model(name: str, model: Any) -> Columns:
    return {"family": model.family, "settings": _set(model)}


def _size(name: str, size: Any) -> Columns:
    return {
        "layers": size.num_layers,
        "width": size.hidden_size,
        "heads": size.num_heads,
        "feed-forward": size.intermediate_size,
    }


def _adaptation(name: str, adaptation: Any) -> Columns:
    return {"settings": adaptation.label, **_about(name, adaptation)}


def _task(name: str, task: Any) -> Columns:
    return {
        "kind": task.kind,
        "metric": ", ".join(task.metrics),
        "train": task.train_size or None,
        "chance": task.chance and round(task.chance, 3),
        "data": _data(task.data),
        "source": task.citation,
    }


def _suite(name: str, suite: Any) -> Columns:
    tasks = {"tasks": len(suite.tasks), "average": suite.average}
    return {**tasks, "source": suite.citation, "names": ", ".join(suite.tasks)}


def _probe(name: str, probe: Any) -> Columns:
    return {
        "kind": probe.kind,
        "categories": len(probe.categories),
        "chance": round(probe.chance, 3),
        "data": _data(probe.data),
        "source": probe.citation,
    }


def _space(name: str, space: Mapping[str, Any]) -> Columns:
    return {"fields": ", ".join(f"{field} {_shown(choices)}" for field, choices in space.items())}


def _about(name: str, member: Any) -> Columns:
    text = member if isinstance(member, str) else inspect.getdoc(member) or ""
    return {"about": " ".join(text.split())}


def _set(value: Any) -> str:
    """The fields of a value that differ from their defaults, except its kind."""
    fields = value.model_dump(mode="json", exclude_defaults=True)
    return ", ".join(
        f"{field} {_shown(one)}"
        for field, one in fields.items()
        if field not in ("kind", "source", "family")
    )


def _shown(value: Any) -> str:
    return " | ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _data(data: Any) -> str:
    """Where a data set comes from: `nyu-mll/glue, cola`, or `microworld`."""
    if data.source == "hub":
        return f"{data.path}, {data.config}" if data.config else str(data.path)
    return str(data.source)


COLUMNS: dict[str, Callable[[str, Any], Columns]] = {
    "recipes": _recipe,
    "objectives": _objective,
    "corpora": _corpus,
    "tokenizers": _tokenizer,
    "models": _model,
    "sizes": _size,
    "adaptations": _adaptation,
    "diagnostics": _about,
    "tasks": _task,
    "suites": _suite,
    "probes": _probe,
    "spaces": _space,
}
"""Registry to the columns of a member; others show what their members say of themselves."""
