"""Rows that are longer than a network's table of positions."""

from collections.abc import Iterator

from harness.pretraining.objectives.layout import padded_width
from harness.pretraining.objectives.objective import Component, Objective, parts_of
from harness.pretraining.objectives.transforms.spans import SpanCorruption
from harness.pretraining.settings import PretrainSettings

UNBOUNDED = ("t5",)
"""Families without a maximum position."""
NUMBER_PADDING = (
    *("bert", "albert", "electra", "distilbert"),
    *("gpt", "gpt2", "two_way_gpt2", "gpt_neo", "bart", "transformer"),
)
"""Families whose padding has positions, too, so that the table must be as long as padded rows."""
SHORTENED = ("span_corruption", "masked_identifiers", "prefix", "denoising")
"""Transforms whose source is not padded, but for masks in place of single tokens."""


def position_problems(run: PretrainSettings, longest: int) -> Iterator[str]:
    """Rows of `longest` tokens, or what they are padded to, beyond `model.max_position`."""
    most = run.model.max_position
    if longest > most:
        yield f"sequence_length must be at most model.max_position = {most}, but is {longest}"
        return
    width = _widest(run, longest)
    if numbers_padding(run) and width > most and not run.budget.is_zero:
        yield (
            f"model.max_position must be at least {width}, as rows of {longest} tokens take so "
            "many positions with their padding to a multiple of 8 and a mode token, if any, but is "
            f"{most}"
        )


def room_problems(run: PretrainSettings, objective: Objective, longest: int) -> Iterator[str]:
    """No room for a source of `longest` tokens and its target in one row."""
    one_row = objective.representation in ("causal", "prefix") and objective.predicts_text
    needed = padded_width(2 * longest) if numbers_padding(run) else 2 * longest
    if one_row and run.model.family not in UNBOUNDED and needed > run.model.max_position:
        yield (
            f"source and target stand in one row: model.max_position must be at least {needed}, "
            f"twice the sequence_length, but is {run.model.max_position}"
        )


def numbers_padding(run: PretrainSettings) -> bool:
    """Whether the padding of a row takes rows of the table of positions."""
    embeds = run.model.family in NUMBER_PADDING and run.model.positions != "none"
    return embeds or run.model.mask_decoder is not None


def _widest(run: PretrainSettings, longest: int) -> int:
    """Positions of the widest padded row in which a component reads `longest` tokens."""
    parts = parts_of(run.objective)
    text = longest - any(part.mode_token is not None for part in parts)
    return max(_width(part, text) for part in parts)


def _width(part: Component, text: int) -> int:
    """Positions of a padded row of `text` tokens, and of a mode token before its padding; of a
    source and a target in a row or two, the wider one that is padded."""
    transform, output = part.objective.transform, part.objective.output.kind
    masks = isinstance(transform, SpanCorruption) and transform.replacement == "mask_token"
    source = padded_width(text) + (part.mode_token is not None)
    if transform.kind in SHORTENED and not masks:
        source = 0
    target = padded_width(text - 1) if output == "whole_text" else 0
    return max(source, target)
