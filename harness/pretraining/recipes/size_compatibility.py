"""Sizes that the networks of a family cannot have, one sentence each."""

from collections.abc import Iterator

from harness.models import ROTARY
from harness.models.counts.shapes import GPT_WIDENING
from harness.pretraining.settings import PretrainSettings

OWN_HEAD_SIZE = ("t5", "llama", "mistral", "gemma")
"""Families whose head size is free."""
HALVED = {
    "two_way_gpt2": ("hidden_size", "num_heads", "intermediate_size"),
    "bilstm": ("hidden_size",),
    "elmo": ("hidden_size",),
}
"""Family to the sizes of which each direction has half."""
TURNED = ("modernbert", *ROTARY)
"""Families with rotary positions, which turn pairs of values of a head."""


def size_problems(run: PretrainSettings) -> Iterator[str]:
    """One sentence per size, basic ones first."""
    family, size = run.model.family, run.size
    if size.head_dim and family not in OWN_HEAD_SIZE:
        yield (
            f"size.head_dim belongs to {', '.join(OWN_HEAD_SIZE)}, but family is {family}; "
            "leave it out"
        )
    for name in HALVED.get(family, ()):
        if getattr(size, name) % 2:
            yield (
                f"size.{name} of a {family} must be even, half for each direction, but is "
                f"{getattr(size, name)}"
            )
    yield from _heads(run)
    if family == "xlnet" and size.hidden_size % 2:
        yield f"size.hidden_size of an xlnet must be even, but is {size.hidden_size}"
    inner = GPT_WIDENING * size.hidden_size
    if family == "gpt" and size.intermediate_size != inner:
        yield (
            f"size.intermediate_size of a gpt must be {GPT_WIDENING} x hidden_size = {inner}, but "
            f"is {size.intermediate_size}"
        )


def _heads(run: PretrainSettings) -> Iterator[str]:
    family, size = run.model.family, run.size
    keys = run.model.num_kv_heads
    if keys and size.num_heads % keys:
        yield f"model.num_kv_heads must divide size.num_heads = {size.num_heads}, but is {keys}"
    width = size.attention_size // size.num_heads
    if family in TURNED and width % 2:
        yield (
            f"the width of a head of a {family} must be even, for its rotary positions, but is "
            f"{width}: change size.{'head_dim' if size.head_dim else 'num_heads'}"
        )
    if family == "llama" and size.hidden_size % size.num_heads:
        yield (
            f"size.hidden_size of a llama must be a multiple of num_heads = {size.num_heads}, but "
            f"is {size.hidden_size}"
        )
