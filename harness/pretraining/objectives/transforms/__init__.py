"""Transforms of the text before the model reads it: masking, span corruption, reordering.

Each file holds the settings of a transform and a pure function (settings, rows, generator,
vocabulary) -> TransformResult that applies it to a whole batch.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema

from harness.core.config import kind_from_name
from harness.core.errors import MemberError
from harness.pretraining.objectives.layout import Rows, read_only
from harness.pretraining.objectives.transforms import (
    denoising,
    identifiers,
    masking,
    order,
    result_check,
    spans,
)
from harness.pretraining.objectives.transforms.transform import Transform, TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary

Function = Callable[[Any, Rows, np.random.Generator, Vocabulary], TransformResult]
"""(settings, rows [B, T], generator, vocabulary) to the transformed rows."""
TRANSFORMS: dict[type[Transform], Function] = {
    order.Identity: order.identity,
    masking.TokenMasking: masking.token_masking,
    masking.NgramMasking: masking.ngram_masking,
    masking.SpanMasking: masking.span_masking,
    spans.SpanCorruption: spans.span_corruption,
    identifiers.MaskedIdentifiers: identifiers.masked_identifiers,
    order.Prefix: order.prefix,
    order.Deshuffling: order.deshuffling,
    denoising.Denoising: denoising.denoising,
    order.PermutationOrder: order.permutation_order,
    order.ContextWindow: order.context_window,
}
"""Settings of each transform and its function."""


class _OneOfTransforms:
    """Makes pydantic accept exactly the members of TRANSFORMS."""

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        union: Any = reduce(or_, TRANSFORMS)
        return handler.generate_schema(Annotated[union, Field(discriminator="kind")])

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        names = [transform.model_fields["kind"].default for transform in TRANSFORMS]
        return {"anyOf": [{"enum": names}, handler(schema)]}


AnyTransform = Annotated[Transform, _OneOfTransforms(), BeforeValidator(kind_from_name)]
"""A transform by its fields, or by its kind alone."""


def apply_transform(
    transform: Transform, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    """The transformed rows [B, T]; equal states of `rng` give equal results.

    Inputs that inserted masks made longer than the rows are truncated, as positions may not
    exceed the row length.

    Raises:
        ValueError: the transform changes the rows.
        MemberError: its result does not fit the rows; see `result_check`.
    """
    function = TRANSFORMS[type(transform)]
    with read_only(rows):
        result = function(transform, rows, rng, vocabulary)
    if problem := next(result_check.problems(rows, result, vocabulary), None):
        raise MemberError(f"the transform {transform.kind!r} must return {problem}", function)
    width = rows.tokens.shape[1]
    if result.inputs.shape[1] <= width:
        return result
    inputs, lengths = result.inputs[:, :width].copy(), np.minimum(result.lengths, width)
    cut = np.flatnonzero(result.lengths > width)
    inputs[cut, width - 1] = vocabulary.sep
    return replace(result, inputs=inputs, lengths=lengths)
