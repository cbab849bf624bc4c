"""Whether a transform does what an objective needs, tried on synthetic rows before a run."""

from collections.abc import Iterator
from dataclasses import fields

import numpy as np

from harness.core.errors import MemberError
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.sample_rows import NUM_ROWS, padded_rows
from harness.pretraining.objectives.transforms import TRANSFORMS, apply_transform
from harness.pretraining.objectives.transforms.transform import TransformResult

LENGTH = 64
"""Tokens of the longest row."""


def check_transform(objective: Objective) -> None:
    """Checks what the transform of an objective returns for rows of 3 to LENGTH tokens.

    Raises:
        MemberError: the result does not fit the rows or the output, equal generators give different
            results, or no token is chosen in any row.
    """
    transform = objective.transform
    rows, vocabulary = padded_rows(LENGTH, np.random.default_rng(0))
    one, again = (
        apply_transform(transform, rows, np.random.default_rng(1), vocabulary) for _ in range(2)
    )
    if problem := next(_problems(objective, one, again), None):
        message = f"the transform {transform.kind!r} must {problem}"
        raise MemberError(message, TRANSFORMS[type(transform)])


def _problems(objective: Objective, one: TransformResult, again: TransformResult) -> Iterator[str]:
    output = objective.output.kind
    if not _equal(one, again):
        yield "draw from its generator alone, but equal generators gave different results"
    if output == "dropped_spans" and one.dropped is None:
        yield "return the dropped text for the output dropped_spans, but returned none"
    if not objective.predicts_text and not one.aligned:
        yield (
            f"return aligned=True for the output {output}, which is predicted at the positions of "
            "the original text, but returned False"
        )
    if objective.representation == "permuted" and one.order is None:
        yield "return an order for the representation permuted, but returned none"
    pairs = output == "sampled_token" and objective.representation == "skipgram"
    if pairs and one.window is None:
        yield "return a window for the representation skipgram, but returned none"
    if _predicts_chosen(objective) and not one.chosen.any():
        yield f"choose tokens for the output {output}, but chose none in {NUM_ROWS} rows"


def _predicts_chosen(objective: Objective) -> bool:
    in_place = objective.output.kind in ("masked_token", "replaced_token", "corrected_token")
    return objective.representation == "permuted" or (
        in_place and objective.representation != "cbow"
    )


def _equal(one: TransformResult, other: TransformResult) -> bool:
    pairs = [(getattr(one, part.name), getattr(other, part.name)) for part in fields(one)]
    return all(_same(first, second) for first, second in pairs)


def _same(first: object, second: object) -> bool:
    if isinstance(first, tuple) and isinstance(second, tuple):
        return all(map(_same, first, second))
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return np.array_equal(first, second)
    return first is second
