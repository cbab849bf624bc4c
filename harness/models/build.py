"""Networks from declared values: transformers' BERT and RoBERTa with their pretraining heads.

Shapes: B sequences, T tokens, H hidden size, M masked positions in the batch, V vocabulary.
"""

from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    PreTrainedModel,
    RobertaConfig,
    RobertaForMaskedLM,
)
from transformers.models.roberta.modeling_roberta import RobertaPooler

from harness.models import Architecture, Size
from harness.models.counts import position_rows, segment_types

FAMILIES: dict[str, type[BertConfig | RobertaConfig]] = {
    "bert": BertConfig,
    "roberta": RobertaConfig,
}
MAX_PAD_ID = 1
"""RoBERTa's positions start after the padding token's number, and its table has 2 spare rows."""


class Encoder(nn.Module):
    """A bidirectional network, its masked-token head and, for a pair loss, its pair head."""

    network: PreTrainedModel

    def __init__(self, network: PreTrainedModel) -> None:
        super().__init__()
        self.network = network

    @property
    def backbone(self) -> PreTrainedModel:
        """transformers' model without heads."""
        return cast(PreTrainedModel, self.network.base_model)

    @property
    def masked_head(self) -> nn.Module:
        """[M, H] to logits [M, V]; its matrix is the token embedding."""
        path = "lm_head" if isinstance(self.network, RobertaForMaskedLM) else "cls.predictions"
        return self.network.get_submodule(path)

    @property
    def pair_head(self) -> nn.Module | None:
        """[B, H] pooled first tokens to logits [B, 2]."""
        if isinstance(self.network, BertForPreTraining):
            return self.network.get_submodule("cls.seq_relationship")
        return getattr(self.network, "pair_head", None)

    def forward(
        self,
        input_ids: Tensor,
        token_type_ids: Tensor,
        masked_positions: Tensor,
        attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Logits [M, V] at the masked positions, and [B, 2] for the pairs where there is a head.

        Args:
            input_ids: [B, T].
            token_type_ids: [B, T].
            masked_positions: [M] into the flattened [B * T].
            attention_mask: [B, T]; none where no token is padding, for the fastest attention.
        """
        states = self.backbone(
            input_ids=input_ids, token_type_ids=token_type_ids, attention_mask=attention_mask
        )
        hidden = states.last_hidden_state.flatten(0, 1)[masked_positions]
        pair_head = self.pair_head
        pair = pair_head(states.pooler_output) if pair_head is not None else None
        return self.masked_head(hidden), pair

    def save(self, folder: Path) -> None:
        """Writes the network in Hugging Face format, with safetensors."""
        self.network.save_pretrained(folder)


def build(
    architecture: Architecture,
    size: Size,
    vocab_size: int,
    pad_token_id: int,
    seed: int,
    *,
    pair_format: bool = False,
    pair_loss: bool = False,
) -> Encoder:
    """A network with initial weights that are a function of the arguments.

    Raises:
        ValueError: RoBERTa with a padding token whose number leaves no room for the positions.
    """
    config = make_config(architecture, size, vocab_size, pad_token_id, pair_format=pair_format)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if isinstance(config, RobertaConfig):
            return Encoder(_roberta(config, pair_loss))
        return Encoder((BertForPreTraining if pair_loss else BertForMaskedLM)(config))


def make_config(
    architecture: Architecture,
    size: Size,
    vocab_size: int,
    pad_token_id: int,
    *,
    pair_format: bool = False,
) -> BertConfig | RobertaConfig:
    """transformers' configuration of a network."""
    if architecture.family == "roberta" and pad_token_id > MAX_PAD_ID:
        raise ValueError(
            f"the padding token of a RoBERTa must have a number up to {MAX_PAD_ID}, but has "
            f"{pad_token_id}; train the tokenizer here, or use family: bert"
        )
    config = FAMILIES[architecture.family](
        vocab_size=vocab_size,
        pad_token_id=pad_token_id,
        num_hidden_layers=size.num_layers,
        hidden_size=size.hidden_size,
        num_attention_heads=size.num_heads,
        intermediate_size=size.intermediate_size,
        max_position_embeddings=position_rows(architecture),
        type_vocab_size=segment_types(architecture, pair_format),
        hidden_dropout_prob=architecture.dropout,
        attention_probs_dropout_prob=architecture.attention_dropout,
        initializer_range=architecture.initializer_range,
        layer_norm_eps=1e-12 if architecture.family == "bert" else 1e-5,  # as published with each
        hidden_act="gelu",
    )
    config._attn_implementation = "sdpa"
    return config


def _roberta(config: RobertaConfig, pair_loss: bool) -> RobertaForMaskedLM:
    """RoBERTa was published without a pair head; this adds BERT's: pooler and linear layer."""
    network = RobertaForMaskedLM(config)
    if pair_loss:
        pooler, head = RobertaPooler(config), nn.Linear(config.hidden_size, 2)
        for linear in (pooler.dense, head):
            nn.init.normal_(linear.weight, std=config.initializer_range)
            nn.init.zeros_(linear.bias)
        network.roberta.pooler = pooler
        network.pair_head = head
    return network
