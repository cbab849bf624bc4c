"""The protocol of fine-tuning, and its hyperparameters."""

from typing import Literal

from pydantic import Field

from harness.core.config import ConfigModel

UNSEEING = ("causal", "encoder_decoder", "cbow")
"""Readings under which the first token has seen nothing but itself."""


class Finetune(ConfigModel):
    """Hyperparameters of fine-tuning; a sweep searches among them."""

    learning_rate: float = Field(default=5e-5, gt=0)
    batch_size: int = Field(default=32, ge=1)
    epochs: int = Field(default=3, ge=1)
    warmup_fraction: float = Field(default=0.1, ge=0, le=1)
    weight_decay: float = Field(default=0.01, ge=0)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    auxiliary_lm_weight: float = Field(default=0.0, ge=0)
    """Weight of the next-token loss on the task's inputs beside the task's own, for models read
    causally (Radford et al. 2018, section 3.2: 0.5)."""
    layer_decay: float | None = Field(default=None, gt=0, le=1)
    """Factor of the learning rate from layer to layer downwards: of L layers, the i-th from below
    has it to the power of L + 2 - i, the embeddings of L + 2, the head 1 (google-research/electra,
    optimization.py, `_get_layer_lrs`; Clark et al. 2020, table 7: 0.8 for small, 0.9 for large)."""
    schedule: Literal["linear", "cosine", "constant"] | None = None
    """Of the learning rate after its warmup; null: linear to zero, with warmup a triangle."""
    bias_correction: bool | None = None
    """False for BERT's own Adam, without which small tasks train less surely (Mosbach et al. 2021;
    Zhang et al. 2021, section 4); null: Adam as published."""
    reinit_layers: int | None = Field(default=None, ge=1)
    """Layers next to the head that start with new weights (Zhang et al. 2021, section 5)."""


class Protocol(ConfigModel):
    """How a backbone is fine-tuned and scored: one for every arm, shown under every table."""

    pooling: Literal["native", "cls", "last", "mean", "max"] = "native"
    """What the head reads: the state of the first token (`cls`) or of the last, the mean or maximum
    over the tokens, or what fits the reading (`native`): the first token where all see all, the
    last where only it has seen all, both ends of a two-way reader, the mean of static vectors."""
    answer: Literal["head", "text"] = "head"
    """How an answer is given: by a new head, or in words of the vocabulary, as T5 does and as a
    decoder that names the label (Raffel et al. 2020, section 2.4); needs a model that writes.
    Tasks that ask for a text are answered in words in any case."""
    both_orders: bool = False
    """Pairs of symmetric tasks (similarity, paraphrase) are read in both orders, and what the head
    reads of them is added (Radford et al. 2018, section 3.3)."""
    head_dropout: float = Field(default=0.1, ge=0, lt=1)
    max_sequence_length: int = Field(default=128, ge=8)
    """Tokens of an input; longer ones are truncated, the longer text of a pair first."""
    max_target_length: int = Field(default=64, ge=2)
    """Tokens of an answer in words, its end included; longer ones are cut."""
    doc_stride: int = Field(default=64, ge=1)
    """Tokens that two windows of a long context share where a span is looked for, as
    transformers' run_qa.py counts them; that of google-research/bert is the step instead."""
    num_beams: int = Field(default=1, ge=1)
    """Beams of a search for an answer in words; 1 is greedy."""
    num_fewshot: int = Field(default=0, ge=0)
    """Solved examples of train before the question, for the adaptation `prompt`."""
    holdout_fraction: float = Field(default=0.1, gt=0, lt=1)
    """Share of the train set that selects hyperparameters; the public dev set only reports."""
    max_holdout_examples: int = Field(default=1000, ge=1)
    """Examples of the hold-out, at most."""
    max_train_examples: int | None = Field(default=None, ge=8)
    """Examples of the train set, at most; null takes all."""
    selection: Literal["last", "best"] = "last"
    """The weights that are scored: of the last epoch, or of the one best on the hold-out."""
