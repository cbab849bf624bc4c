"""The network that pretraining and fine-tuning share, with its representation.

Shapes: B sequences, T tokens, U tokens of a decoder, H hidden size, V vocabulary.
"""

import json
from pathlib import Path
from typing import Any, cast

from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from harness.models import FAMILIES
from harness.models.attention_masks import attention_mask_for
from harness.models.blueprints import Blueprint
from harness.models.soft_prompt import SoftPrompt

METADATA = "harness.json"
"""File next to the weights with properties that are not in the configuration of transformers."""


class Backbone(nn.Module):
    """A pretrained or new network with its representation.

    Attributes:
        network: the model of transformers, with its token head.
        representation: the default representation.
        objective: its last training objective as plain data; empty if unknown.
        soft_prompt: vectors that precede every input; their states are not returned.
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
        """Width of the states."""
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
        """States `last_hidden_state` [B, T, H], or [B, U, H] of a decoder.

        Args:
            input_ids: [B, T].
            attention_mask: [B, T], 0 at padding; None without padding.
            token_type_ids: [B, T], for families with segment embeddings.
            decoder_input_ids: [B, U], for an encoder-decoder.
            prefix_lengths: [B], for the representation `prefix`; None means all tokens.
            representation: replaces the default one.
            more: arguments of the network, such as `output_hidden_states`.
        """
        representation = representation or self.representation
        before = 0 if self.soft_prompt is None else len(self.soft_prompt)
        if self.soft_prompt is not None:
            input_ids, attention_mask, token_type_ids = self.soft_prompt.before(
                input_ids, attention_mask, token_type_ids
            )
            prefix_lengths = None if prefix_lengths is None else prefix_lengths + before
        if representation == "encoder_decoder":
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
            native = "bidirectional"  # its encoder as one stack
        mask = attention_mask_for(representation, native, input_ids, attention_mask, prefix_lengths)
        if self.facts.segments:
            more["token_type_ids"] = token_type_ids
        stack = self.blueprint.stack(self.network)
        output = cast(BaseModelOutput, stack(input_ids=input_ids, attention_mask=mask, **more))
        if before and output.last_hidden_state is not None:
            output.last_hidden_state = output.last_hidden_state[:, before:]
        return output

    def token_logits(self, states: Tensor) -> Tensor:
        """[..., V] logits of the token head from [..., H] states.

        Raises:
            ValueError: the network has no token head.
        """
        return self.blueprint.head(self.network)(states)

    def save(self, folder: Path) -> None:
        """Writes the network in Hugging Face format (safetensors), and METADATA."""
        self.network.save_pretrained(folder)
        metadata = {
            "blueprint": self.name,
            "family": self.family,
            "representation": self.representation,
            "objective": self.objective,
        }
        (folder / METADATA).write_text(json.dumps(metadata, indent=2) + "\n")


def read_metadata(folder: Path) -> dict[str, Any]:
    """Blueprint, family, representation and objective of a saved network."""
    metadata: dict[str, Any] = json.loads((folder / METADATA).read_text())
    return metadata
