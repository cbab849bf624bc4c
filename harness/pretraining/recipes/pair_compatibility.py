"""Incompatible settings of sentence pairs, and of the marks of a mixture's components."""

from collections.abc import Iterator

from harness.data.corpora.packing import PAIR_FORMATS
from harness.models.counts.shapes import segment_types
from harness.pretraining.objectives.objective import Mixture, parts_of
from harness.pretraining.settings import PretrainSettings


def pair_problems(run: PretrainSettings) -> Iterator[str]:
    """Losses of pairs without pairs, and pairs that no objective reads."""
    losses = [objective.sentence_pair for objective in run.objectives]
    given = next((loss for loss in losses if loss != "none"), None)
    if given and run.packing.format not in PAIR_FORMATS:
        yield (
            f"objective.sentence_pair = {given} needs packing.format "
            f"{' or '.join(PAIR_FORMATS)}, but it is {run.packing.format}"
        )
    if run.packing.pairs and "none" not in losses:
        yield (
            f"packing.pairs is for an objective with sentence_pair none, but it is {given}, which "
            "draws its own pairs; leave packing.pairs out"
        )
    several = isinstance(run.objective, Mixture) and run.objective.dupe_factor > 1
    if several and run.packing.format not in PAIR_FORMATS:
        yield (
            "objective.dupe_factor of a mixture is for packing.format "
            f"{' or '.join(PAIR_FORMATS)}, but it is {run.packing.format}; leave dupe_factor out"
        )


def mark_problems(run: PretrainSettings) -> Iterator[str]:
    """Mode tokens and segments that tokenizer and network do not have."""
    known = segment_types(run.model, run.packing.format in PAIR_FORMATS)
    for part in parts_of(run.objective):
        if part.mode_token not in (None, *run.tokenizer.extra_tokens):
            yield (
                f"mode_token must be one of tokenizer.extra_tokens, "
                f"{list(run.tokenizer.extra_tokens)}, but is {part.mode_token!r}"
            )
        if part.segments and not known:
            yield (
                f"segments of a component need a network with segment embeddings, but a "
                f"{run.model.family} has none; leave segments out"
            )
        elif part.segments and max(part.segments) >= known:
            yield (
                f"segments of a component must be below the segment embeddings of a "
                f"{run.model.family}, {known} here, but are {list(part.segments)}; model."
                "segment_types sets their number"
            )
