"""Two one-directional Transformers side by side, which Devlin et al. 2019 set against a
bidirectional one (sections 3.1 and 5.1).

Shapes: B sequences, T tokens, H hidden size, V vocabulary.
"""

from typing import Any, cast

from torch import Tensor, nn
from transformers import GPT2Config, GPT2Model, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput

from harness.models import Architecture, Size
from harness.models.blueprints import Blueprint, Tokens
from harness.models.recurrent import joined, reordered, reversal
from harness.models.token_heads import LinearHead


class TwoWayConfig(PreTrainedConfig):
    """Configuration of `TwoWay`; sizes are those of both halves together."""

    model_type = "harness_two_way_gpt2"

    def __init__(
        self,
        vocab_size: int = 1000,
        hidden_size: int = 128,
        num_hidden_layers: int = 2,
        num_attention_heads: int = 2,
        intermediate_size: int = 512,
        max_position_embeddings: int = 512,
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        initializer_range: float = 0.02,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.vocab_size, self.hidden_size = vocab_size, hidden_size
        self.num_hidden_layers, self.num_attention_heads = num_hidden_layers, num_attention_heads
        self.intermediate_size = intermediate_size
        self.max_position_embeddings = max_position_embeddings
        self.dropout, self.attention_dropout = dropout, attention_dropout
        self.initializer_range = initializer_range

    @property
    def half(self) -> GPT2Config:
        """The configuration of one direction, whose token embeddings are outside."""
        return GPT2Config(
            vocab_size=1,
            bos_token_id=None,
            eos_token_id=None,
            n_positions=self.max_position_embeddings,
            n_embd=self.hidden_size // 2,
            n_layer=self.num_hidden_layers,
            n_head=self.num_attention_heads // 2,
            n_inner=self.intermediate_size // 2,
            resid_pdrop=self.dropout,
            embd_pdrop=self.dropout,
            attn_pdrop=self.attention_dropout,
            initializer_range=self.initializer_range,
            use_cache=False,
        )


class TwoWay(PreTrainedModel):
    """A GPT-2 from left to right and one from right to left, whose states of H/2 are concatenated.

    As in ELMo, the directions share the token embeddings V x H/2, which are the output matrix, too
    (Peters et al. 2018, section 3.1). The second has the positions of the reversed text.
    """

    config_class = TwoWayConfig
    config: TwoWayConfig

    def __init__(self, config: TwoWayConfig) -> None:
        super().__init__(config)
        self.embeddings = nn.Embedding(config.vocab_size, config.hidden_size // 2)
        self.forward_half, self.backward_half = _gpt2(config), _gpt2(config)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The token embeddings."""
        return self.embeddings

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_hidden_states: bool = False,
        **_: Any,
    ) -> BaseModelOutput:
        """States [B, T, H] of the last layer, the first half of the left-to-right direction.

        Padding needs no mask in either half: it comes after all tokens.

        Args:
            input_ids: [B, T], padded on the right.
            attention_mask: [B, T], 0 at padding; None without padding.
        """
        embedded = self.embeddings(input_ids)
        order = reversal(input_ids, attention_mask).unsqueeze(-1)
        more = {"output_hidden_states": output_hidden_states}
        ahead = self.forward_half(inputs_embeds=embedded, **more)
        back = self.backward_half(inputs_embeds=reordered(embedded, order), **more)
        layers = zip(ahead.hidden_states or (), back.hidden_states or (), strict=True)
        return BaseModelOutput(
            last_hidden_state=joined(ahead.last_hidden_state, back.last_hidden_state, order),
            hidden_states=tuple(joined(*pair, order) for pair in layers) or None,
        )


def _gpt2(config: TwoWayConfig) -> Any:
    """One direction, without token embeddings of its own."""
    half = cast(Any, GPT2Model(config.half))
    half.wte = None
    return half


def _config(architecture: Architecture, size: Size, tokens: Tokens) -> TwoWayConfig:
    return TwoWayConfig(
        **tokens.fields,
        hidden_size=size.hidden_size,
        num_hidden_layers=size.num_layers,
        num_attention_heads=size.num_heads,
        intermediate_size=size.intermediate_size,
        max_position_embeddings=architecture.max_position,
        dropout=architecture.dropout,
        attention_dropout=architecture.attention_dropout,
        initializer_range=architecture.initializer_range,
    )


TWO_WAY = Blueprint(_config, TwoWay, lambda n: LinearHead(n.embeddings.weight), stack=lambda n: n)
"""Its head takes states of one direction, [..., H/2]."""
