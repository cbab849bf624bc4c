"""Settings of the optimiser."""

from typing import Literal

from pydantic import Field

from harness.core.config import ConfigModel


class Optimizer(ConfigModel):
    """An optimiser, with the details that recipes differ in."""

    kind: Literal["adamw", "lamb", "adafactor", "stable_adamw", "muon", "sgd", "adagrad"] = "adamw"
    """See `harness.pretraining.optimizer_kinds`."""
    learning_rate: float = Field(default=1e-4, gt=0)
    """Peak, reached at the end of the warmup."""
    beta1: float = Field(default=0.9, ge=0, lt=1)
    """Of adamw, stable_adamw and lamb; with muon, of its AdamW. The same holds for `beta2`."""
    beta2: float = Field(default=0.999, ge=0, lt=1)
    momentum: float | None = Field(default=None, ge=0, lt=1)
    """Of sgd and muon; null: 0 and 0.95."""
    eps: float = Field(default=1e-6, gt=0)
    """Of all but adafactor and sgd."""
    initial_accumulator: float | None = Field(default=None, ge=0)
    """Of adagrad: the sum of squared gradients that it starts from; null: 1/400."""
    weight_decay: float = Field(default=0.01, ge=0)
    """Times the learning rate, apart from the gradient; of sgd and adagrad, part of the gradient
    (L2). Not applied to biases and LayerNorm, but for the attention biases of XLNet, as in its
    code (`include_in_weight_decay`)."""
    max_grad_norm: float = Field(default=1.0, ge=0)
    """Clip the global norm of the gradient to this; 0 never clips."""
    bias_correction: bool = True
    """Of adamw; false for BERT's own Adam (google-research/bert optimization.py)."""
    embedding_learning_rate_factor: float = Field(default=1.0, gt=0)
    """Multiplies the learning rate of the input embeddings."""
