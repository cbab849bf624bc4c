"""The network that pretraining and fine-tuning share, with its representation.

Shapes: B sequences, T tokens, U tokens of a decoder, P vectors of a soft prompt, E embedding size,
H hidden size, V vocabulary.
"""

import json
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from harness.core.files import usual_mode
from harness.models import FAMILIES
from harness.models.blueprints import Blueprint
from harness.models.checkpoints.dense_layers import save_dense
from harness.models.checkpoints.files import METADATA
from harness.models.checkpoints.sentence_embeddings import SentenceEmbedding
from harness.models.token_heads import LinearHead, most_likely

MIN_LOGITS, MIN_LOGITS_IN_BF16, MIN_LOGITS_ON_GPU = 2**24, 2**19, 2**24
"""Logits of a batch from which on the loss is computed in parts, which takes less memory and, on a
CPU, less time (benchmarks/README.md). The number for GPUs is not measured."""


class SoftPrompt(nn.Module):
    """P trainable vectors that replace the embeddings of P tokens before an input."""

    def __init__(self, vectors: Tensor, token: int, time_first: bool = False) -> None:
        super().__init__()
        self.vectors = nn.Parameter(vectors)
        self.token = token
        """Any token but padding; its embedding is replaced."""
        self.is_waiting, self.time_first = False, time_first

    def __len__(self) -> int:
        return len(self.vectors)

    def before(
        self, input_ids: Tensor, attention_mask: Tensor | None, token_type_ids: Tensor | None
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The inputs [B, T] with P tokens before them, [B, P + T].

        The next call of the embedding layer replaces the embeddings of these tokens.
        """
        self.is_waiting = True
        pad = (len(self), 0)
        mask = None if attention_mask is None else F.pad(attention_mask, pad, value=1)
        types = None if token_type_ids is None else F.pad(token_type_ids, pad)
        return F.pad(input_ids, pad, value=self.token), mask, types

    def replace(self, embedding: nn.Module, read: Any, embedded: Tensor) -> Tensor:
        """Forward hook of the embedding layer: [B, P + T, E], or [P + T, B, E] if `time_first`."""
        if not self.is_waiting:
            return embedded
        self.is_waiting = False
        time = 0 if self.time_first else 1
        shape = list(embedded.shape)
        shape[time] = len(self)
        vectors = self.vectors.to(embedded.dtype).unsqueeze(1 - time).expand(shape)
        rest = embedded.narrow(time, len(self), embedded.shape[time] - len(self))
        return torch.cat((vectors, rest), time)


class Backbone(nn.Module):
    """A pretrained or new network with its representation.

    Attributes:
        network: the model of transformers, with its token head.
        representation: the default representation.
        objective: its last training objective as plain data; empty if unknown.
        embedding: how a sentence-transformers model embeds a text; null for other networks.
        projection: its dense layers above the pooling, if any; in a tuple, so not registered: they
            are weights of the embedding alone.
        imported: of a checkpoint, what identifies and describes it (`checkpoint_import`).
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
        self.embedding: SentenceEmbedding | None = None
        self.projection: tuple[nn.Sequential, ...] = ()
        self.imported: dict[str, Any] = {}
        self.soft_prompt: SoftPrompt | None = None

    @property
    def hidden_size(self) -> int:
        """Width of the states."""
        return int(self.network.config.hidden_size)

    @property
    def has_trained_head(self) -> bool:
        """Whether the token head reads states of the network: not after replaced-token detection,
        which trains none, nor after neighbouring sentences, where it reads those of decoders that
        are not kept, nor in a checkpoint without one, which an import completes with random
        weights."""
        output = self.objective.get("output", {}).get("kind")
        if output in ("replaced_token", "neighbour_sentences"):
            return False
        return getattr(self.network.config, "harness_head", "") != "none"

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        prefix_lengths: Tensor | None = None,
        representation: str | None = None,
        for_token_head: bool = False,
        **more: Any,
    ) -> BaseModelOutput:
        """States `last_hidden_state` [B, T, H], or [B, U, H] of a decoder.

        Args:
            input_ids: [B, T].
            attention_mask: [B, T], 0 at padding; None without padding.
            token_type_ids: [B, T], for families with segment embeddings.
            decoder_input_ids: [B, U], for an encoder-decoder.
            decoder_attention_mask: [B, U], 0 at padding; None without padding.
            prefix_lengths: [B], for the representation `prefix`; None means all tokens.
            representation: replaces the default one.
            for_token_head: whether to return the states that `token_logits` reads, where they are
                others than those of the last layer (DeBERTa's enhanced mask decoder).
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
        stacked = self.blueprint.token_stack if for_token_head else None
        stack = (stacked or self.blueprint.stack)(self.network)
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

    def token_loss(self, states: Tensor, targets: Tensor) -> Tensor:
        """Scalar sum of the cross-entropies of tokens [M] by the token head from [M, H] states.

        Raises:
            ValueError: the network has no token head.
        """
        if (head := self._head_in_parts(states, targets)) is not None:
            return head.cross_entropy(states, targets)
        return F.cross_entropy(self.token_logits(states).float(), targets, reduction="sum")

    def token_loss_and_hits(self, states: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """As `token_loss`, and whether the most likely token is the target, [M] bool.

        Raises:
            ValueError: the network has no token head.
        """
        if (head := self._head_in_parts(states, targets)) is not None:
            return head.cross_entropy_and_hits(states, targets)
        logits = self.token_logits(states)
        loss = F.cross_entropy(logits.float(), targets, reduction="sum")
        return loss, most_likely(logits) == targets

    def _head_in_parts(self, states: Tensor, targets: Tensor) -> LinearHead | None:
        """The token head, if the loss of tokens [M] by it is to be computed in parts."""
        head = self.blueprint.head(self.network)
        num_logits = len(targets) * self.network.config.vocab_size
        least = MIN_LOGITS_IN_BF16 if torch.is_autocast_enabled("cpu") else MIN_LOGITS
        least = MIN_LOGITS_ON_GPU if states.is_cuda else least
        if isinstance(head, LinearHead) and num_logits >= least and torch.is_grad_enabled():
            return head
        return None

    def save(self, folder: Path, with_head: bool = True) -> None:
        """Writes the network in Hugging Face format (safetensors), with or without its token head,
        and METADATA."""
        network: Any = self.network if with_head else self.network.base_model
        network.save_pretrained(folder)
        metadata: dict[str, Any] = {
            "blueprint": self.name,
            "family": self.family,
            "representation": self.representation,
            "objective": self.objective,
        }
        if self.embedding:
            metadata["embedding"] = self.embedding.model_dump(mode="json")
        for layers in self.projection:
            save_dense(layers, folder)
        if self.imported:
            metadata["imported"] = self.imported
        (folder / METADATA).write_text(json.dumps(metadata, indent=2) + "\n")
        for file in folder.rglob("*.safetensors"):
            usual_mode(file)


def attention_mask_for(
    representation: str,
    native: str,
    input_ids: Tensor,
    attention_mask: Tensor | None,
    prefix_lengths: Tensor | None = None,
) -> Tensor | None:
    """The mask for a representation.

    Args:
        native: the representation that the network has without a mask.
        input_ids: [B, T].
        attention_mask: [B, T], 0 at padding; None without padding.
        prefix_lengths: [B] length of the bidirectional prefix, for `prefix`; None means all tokens.

    Returns:
        `attention_mask` itself for the native representation, so that the fastest attention kernel
        applies; otherwise [B, 1, T, T] bool, True where position i (rows) attends to position j
        (columns). All tokens attend to themselves, which avoids NaN at padding.
    """
    if representation == "prefix" and prefix_lengths is None:
        representation = "bidirectional"
    if representation == native:
        return attention_mask
    batch, length = input_ids.shape
    position = torch.arange(length, device=input_ids.device)
    if representation == "bidirectional":
        visible = torch.ones(batch, length, length, dtype=torch.bool, device=input_ids.device)
    elif representation == "right_to_left":
        visible = (position >= position[:, None]).expand(batch, length, length)
    else:
        visible = (position <= position[:, None]).expand(batch, length, length)
    if prefix_lengths is not None and representation == "prefix":
        visible = visible | (position < prefix_lengths[:, None, None])
    if attention_mask is not None:
        visible = visible & attention_mask[:, None, :].bool()
    return (visible | (position == position[:, None])).unsqueeze(1)
