"""A network without heads, read under a representation: what pretraining and fine-tuning share.

Shapes: B sequences, T tokens, U tokens of a decoder, H hidden size, V vocabulary.
"""

import json
from pathlib import Path
from typing import Any, cast

from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from harness.models import FAMILIES
from harness.models.attention_masks import attention
from harness.models.blueprints import Blueprint
from harness.models.soft_prompt import SoftPrompt

NOTE = "harness.json"
"""Beside the weights: what transformers' own configuration does not say of a network."""


class Backbone(nn.Module):
    """A pretrained or new network with the way it is read.

    Attributes:
        network: transformers' model with its token head.
        representation: how it reads if nothing else is said.
        objective: what it was trained on, the last of a mixture, as plain data; empty if unknown.
        soft_prompt: vectors that are read before every input, of which no states are given.
    """

    def __init__(
        self,
        network: PreTrainedModel,
        blueprint: Blueprint,
        name: str,
        family: str,
        representation: str,
    ) -> None:
        super().__init__()
        self.network = network
        self.blueprint, self.name = blueprint, name
        self.family, self.representation = family, representation
        self.facts = FAMILIES[family]
        self.objective: dict[str, Any] = {}
        self.soft_prompt: SoftPrompt | None = None

    @property
    def hidden_size(self) -> int:
        return int(self.network.config.hidden_size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        prefix_lengths: Tensor | None = None,
        representation: str | None = None,
        **more: Any,
    ) -> BaseModelOutput:
        """States `last_hidden_state` [B, T, H], of the decoder [B, U, H] where there is one.

        Args:
            input_ids: [B, T].
            attention_mask: [B, T], 0 at padding; none where nothing is padding.
            token_type_ids: [B, T], read by families with segment embeddings.
            decoder_input_ids: [B, U], for an encoder-decoder.
            prefix_lengths: [B], for the reading `prefix`; without them the prefix is everything.
            representation: another reading than the network's own.
            more: passed on, as `output_hidden_states`.
        """
        reading = representation or self.representation
        before = 0 if self.soft_prompt is None else len(self.soft_prompt)
        if self.soft_prompt is not None:
            input_ids, attention_mask, token_type_ids = self.soft_prompt.before(
                input_ids, attention_mask, token_type_ids
            )
            prefix_lengths = None if prefix_lengths is None else prefix_lengths + before
        if reading == "encoder_decoder":
            encoded = self.network.get_encoder()(
                input_ids=input_ids, attention_mask=attention_mask, **more
            )
            decoded = self.network.get_decoder()(
                input_ids=decoder_input_ids,
                attention_mask=decoder_attention_mask,
                encoder_hidden_states=encoded.last_hidden_state,
                encoder_attention_mask=attention_mask,
                use_cache=False,
                **more,
            )
            return cast(BaseModelOutput, decoded)
        native = self.facts.representations[0]
        if native == "encoder_decoder":
            native = "bidirectional"  # one stack of it, its encoder
        mask = attention(reading, native, input_ids, attention_mask, prefix_lengths)
        if self.facts.segments:
            more["token_type_ids"] = token_type_ids
        stack = self.blueprint.stack(self.network)
        output = cast(BaseModelOutput, stack(input_ids=input_ids, attention_mask=mask, **more))
        if before and output.last_hidden_state is not None:
            output.last_hidden_state = output.last_hidden_state[:, before:]
        return output

    def token_logits(self, states: Tensor) -> Tensor:
        """[..., H] states to [..., V] logits, by the network's own head."""
        return self.blueprint.head(self.network)(states)

    def save(self, folder: Path) -> None:
        """Writes the network in Hugging Face format, with safetensors, and how it is read."""
        self.network.save_pretrained(folder)
        note = {
            "blueprint": self.name,
            "family": self.family,
            "representation": self.representation,
            "objective": self.objective,
        }
        (folder / NOTE).write_text(json.dumps(note, indent=2) + "\n")


def read_note(folder: Path) -> dict[str, Any]:
    """Blueprint, family, representation and objective of a saved network."""
    note: dict[str, Any] = json.loads((folder / NOTE).read_text())
    return note
