"""A fully declared pretraining run; recipes are values of it, and arms resolve to one."""

from pydantic import model_validator

from harness.pretraining.recipes.compatibility import incompatibilities
from harness.pretraining.settings import PretrainSettings


class Pretrain(PretrainSettings):
    """Tokenizer + input packing + objective + architecture + optimiser + schedule + budget, checked
    for compatibility."""

    init_from: "Pretrain | None" = None
    """A run whose weights this one starts from: its fields where they differ from these. Of static
    vectors, another network takes its initial token embeddings alone."""
    teacher: "Pretrain | None" = None
    """A run to learn from (`objective.distillation`): its fields where they differ from these."""

    @model_validator(mode="after")
    def _compatible(self) -> "Pretrain":
        for sentence in incompatibilities(self):
            raise ValueError(sentence)
        return self
