"""Settings of distillation: the losses of a student with respect to its teacher."""

from pydantic import Field

from harness.core.config import ConfigModel

HEADS_PER_HEAD = 4
"""Relation heads per attention head of the teacher (Wang et al. 2021, section 4.1: 48 of 12, and 64
of 16)."""


class Relations(ConfigModel):
    """The teacher's relations among queries, among keys and among values (Wang et al. 2021). Heads
    are joined and split anew, so that student and teacher may differ in widths and heads.

    Relations alone do not train what follows the attention in the student's last layer."""

    heads: int | None = Field(default=None, ge=1)
    """Relation heads, which divide both hidden sizes; null: four per head of the teacher, which
    gives 48 for a base teacher and 64 for a large one (Wang et al. 2021, section 4.1)."""
    teacher_layer: int | None = Field(default=None, ge=1)
    """The teacher's layer, from 1, that the student's last layer learns from; null: the last (Wang
    et al. 2021, section 3.2: 21 of 24 for BERT large)."""
    weight: float = Field(default=1.0, gt=0)
    """Weight of the KL divergence, the mean over heads and the sum of the three relations."""

    def heads_for(self, teacher_heads: int) -> int:
        """The number of relation heads for a teacher with `teacher_heads` heads."""
        return self.heads or HEADS_PER_HEAD * teacher_heads


class Distillation(ConfigModel):
    """Losses of a student with respect to `pretrain.teacher`."""

    soft_target_weight: float = Field(default=5.0, ge=0)
    """Cross-entropy to the teacher's distribution at the predicted positions, both softened
    (Hinton et al. 2015); times temperature^2 (huggingface/transformers distillation: 5)."""
    temperature: float = Field(default=2.0, gt=0)
    token_weight: float = Field(default=2.0, ge=0)
    """The objective's own loss (huggingface/transformers distillation: 2)."""
    cosine_weight: float = Field(default=1.0, ge=0)
    """1 - cosine between the last hidden states, which must be equally wide (Sanh et al. 2019)."""
    hidden_weight: float = Field(default=0.0, ge=0)
    """Squared error of embeddings and hidden states after a learned projection, layer by mapped
    layer (Jiao et al. 2020)."""
    attention_weight: float = Field(default=0.0, ge=0)
    """Squared error of the attention scores, layer by mapped layer (Jiao et al. 2020)."""
    relations: Relations | None = None
    """Also learn the relations of self-attention (MiniLM; Wang et al. 2020, 2021)."""
    init_from_teacher: bool = False
    """Initial weights are the teacher's embeddings and every other layer (Sanh et al. 2019)."""

    @property
    def relation_weight(self) -> float:
        """Of the relations, read as the weights of the other losses; 0 without."""
        return self.relations.weight if self.relations else 0.0

    @property
    def of_attention_alone(self) -> bool:
        """Whether no loss reads the states of the student's last layer."""
        states = (self.soft_target_weight, self.token_weight, self.cosine_weight)
        return not any((*states, self.hidden_weight))
