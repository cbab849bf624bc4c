"""AXIS: steps between the documents of a source and the token stream.

Those that clean the text (CLEANING) are applied to all documents of a source, in their order,
before some are held out. Those that spoil it as an ablation (ABLATIONS) are applied after them, to
training documents alone; the tokenizer is trained without them.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from operator import or_
from random import Random
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from harness.core.config import as_tuples, kind_from_name
from harness.data.corpora.steps import ablations as spoil
from harness.data.corpora.steps import decontamination, deduplication, filters
from harness.data.corpora.steps.step import Documents, EvaluationTexts, Step

CLEANING: dict[type[Step], Callable[[Any, Documents, EvaluationTexts], Iterator[list[str]]]] = {
    filters.Normalise: filters.normalise,
    filters.Language: filters.language,
    filters.Length: filters.length,
    filters.Quality: filters.quality,
    deduplication.Deduplicate: deduplication.deduplicate,
    deduplication.DeduplicateNear: deduplication.deduplicate_near,
    decontamination.Decontaminate: decontamination.decontaminate,
}
"""Settings of each cleaning step, and (settings, documents, evaluation texts of a suite) to the
documents that remain."""
ABLATIONS: dict[type[Step], Callable[[Any, list[str], Random], list[list[str]]]] = {
    spoil.Duplicate: spoil.duplicate,
    spoil.Noise: spoil.noise,
    spoil.Interchange: spoil.interchange,
}
"""Settings of each ablation, and (settings, document, generator) to what it becomes."""
Steps = tuple[Step, ...]


class _OneOfSteps:
    """Makes pydantic accept exactly the members of CLEANING and ABLATIONS."""

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        union: Any = reduce(or_, [*CLEANING, *ABLATIONS])
        return handler.generate_schema(Annotated[union, Field(discriminator="kind")])

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        names = [
            kind.model_fields["kind"].default
            for kind in (*CLEANING, *ABLATIONS)
            if not any(field.is_required() for field in kind.model_fields.values())
        ]
        return {"anyOf": [{"enum": names}, handler(schema)]}


AnyStep = Annotated[
    Step, _OneOfSteps(), BeforeValidator(as_tuples), BeforeValidator(kind_from_name)
]
"""A step by its fields, or by its kind alone."""


def cleaned(steps: Steps, documents: Documents, evaluation: EvaluationTexts) -> Documents:
    """The documents after the cleaning steps.

    Args:
        evaluation: name of a suite to its evaluation texts, which `decontaminate` removes.
    """
    for step in steps:
        if type(step) in CLEANING:
            documents = CLEANING[type(step)](step, documents, evaluation)
    return documents


def ablations(steps: Steps) -> Callable[[list[str]], list[list[str]]]:
    """The function from a training document to what the ablations make of it; it has random numbers
    of its own."""
    chosen = [(step, Random(vars(step)["seed"])) for step in steps if type(step) in ABLATIONS]

    def apply(document: list[str]) -> list[list[str]]:
        found = [document]
        for step, random in chosen:
            found = [new for one in found for new in ABLATIONS[type(step)](step, one, random)]
        return found

    return apply


def without_ablations(steps: Steps | None) -> Steps | None:
    """The cleaning steps; null if there are none."""
    return tuple(step for step in steps or () if type(step) in CLEANING) or None
