"""Incompatible settings of static vectors, one sentence each."""

from collections.abc import Iterator

from harness.data.corpora.packing import Packing
from harness.models import FAMILY_FIELDS, Architecture
from harness.pretraining.objectives.outputs import Cooccurrence
from harness.pretraining.settings import PretrainSettings


def static_problems(run: PretrainSettings) -> Iterator[str]:
    """One sentence per field without effect on vectors read `skipgram`."""
    yield from _context(run)
    yield from _counts(run)


def _context(run: PretrainSettings) -> Iterator[str]:
    default = Architecture.model_fields["context_size"].default
    if run.representation == "skipgram" and run.model.context_size != default:
        yield (
            f"model.context_size is that of CBOW, but objective.representation is skipgram: leave "
            f"it at {default}, and set {_window(run)}"
        )


def _window(run: PretrainSettings) -> str:
    is_counted = isinstance(run.objectives[-1].output, Cooccurrence)
    return f"objective.{'output.window' if is_counted else 'transform.size'}"


def _counts(run: PretrainSettings) -> Iterator[str]:
    """What counts of the whole text, and sums of two vectors, leave without effect."""
    objective = run.objectives[-1]
    if not isinstance(objective.output, Cooccurrence):
        return
    if run.packing != Packing():
        yield (
            "packing makes sequences of text, but the output cooccurrence reads counts of all of "
            "it: leave packing out"
        )
    if objective.masking != "dynamic":
        yield (
            "objective.masking must be dynamic, as the output cooccurrence masks nothing, but is "
            f"{objective.masking}"
        )
    if run.init_from:
        yield (
            "the output cooccurrence starts from random vectors of words and of contexts, of which "
            "runs keep the sum: leave init_from and continued_pretraining out, or give another "
            "objective"
        )


def embedding_problems(run: PretrainSettings, vectors: PretrainSettings) -> Iterator[str]:
    """Vectors of `init_from` that a network cannot take as its token embeddings."""
    family, families = run.model.family, FAMILY_FIELDS["vectors"]
    if family not in families:
        yield (
            f"init_from of static vectors gives token embeddings to {', '.join(families[1:])}, but "
            f"family is {family}"
        )
        return
    halves = 2 if family == "elmo" else 1  # an ELMo reads what is as wide as one direction
    width = run.model.embedding_size or run.size.hidden_size // halves
    if vectors.size.hidden_size != width:
        yield (
            f"init_from must have static vectors as wide as the token embeddings, {width}, but "
            f"they have {vectors.size.hidden_size}: set init_from.size.hidden_size to {width}"
        )
