"""Sizes of networks, by the names of the literature."""

from typing import Any

from pydantic import Field, model_validator

from harness.core.config import ConfigModel


class Size(ConfigModel):
    """The size of a network; of an encoder-decoder, the size of each half."""

    num_layers: int = Field(ge=1, le=10_000)
    hidden_size: int = Field(ge=8, le=1_000_000)
    num_heads: int = Field(ge=1, le=1_000_000)
    intermediate_size: int = Field(ge=8, le=10_000_000)
    head_dim: int | None = Field(default=None, ge=1)
    """Width of an attention head, if it is not hidden_size / num_heads (T5 3B and 11B, Gemma)."""

    @property
    def attention_size(self) -> int:
        """Total width of all attention heads."""
        return self.num_heads * self.head_dim if self.head_dim else self.hidden_size

    @model_validator(mode="after")
    def _heads(self) -> "Size":
        if self.head_dim is None and self.hidden_size % self.num_heads:
            raise ValueError(
                f"hidden_size must be a multiple of num_heads, but {self.hidden_size} is not one "
                f"of {self.num_heads}"
            )
        return self


def _size(num_layers: int, hidden_size: int, num_heads: int | None = None, **rest: Any) -> Size:
    """A size with heads of width 64 and a feed-forward layer of 4 x hidden by default."""
    return Size(
        num_layers=num_layers,
        hidden_size=hidden_size,
        num_heads=num_heads or hidden_size // 64,
        intermediate_size=rest.pop("intermediate_size", 4 * hidden_size),
        **rest,
    )


SIZES: dict[str, Size] = {
    "nano": Size(num_layers=2, hidden_size=64, num_heads=2, intermediate_size=256),  # ours
    "tiny": _size(2, 128),  # Turc et al. 2019, section 3.1, as the three below
    "mini": _size(4, 256),
    "small": _size(4, 512),
    "medium": _size(8, 512),
    "base": _size(12, 768),  # Devlin et al. 2019, section 3; ALBERT, GPT, BART's halves: 6 of these
    "large": _size(24, 1024),
    "transformer_base": _size(6, 512),  # Vaswani et al. 2017, table 3, as the next
    "transformer_big": _size(6, 1024),
    "half_base": _size(6, 768),  # Sanh et al. 2019; BART base (Lewis et al. 2020, section 5.1)
    "half_large": _size(12, 1024),  # BART large (Lewis et al. 2020, section 2.1)
    "electra_small": _size(12, 256),  # Clark et al. 2020, table 6
    "tinybert4": _size(4, 312, 12, intermediate_size=1200),  # Jiao et al. 2020, section 4.1
    "minilm6": _size(6, 384, 12),  # Wang et al. 2020, section 4.1, and table 2 of Wang et al. 2021
    "albert_xlarge": _size(24, 2048, 16),  # Lan et al. 2020, table 1, as the next
    "albert_xxlarge": _size(12, 4096, 64),
    "gpt2_medium": _size(24, 1024),  # Radford et al. 2019, table 2, as the two below
    "gpt2_large": _size(36, 1280),
    "gpt2_xl": _size(48, 1600),
    "t5_small": _size(6, 512),  # Raffel et al. 2020, section 3.7, as all of T5's
    "t5_base": _size(12, 768),
    "t5_large": _size(24, 1024),
    "t5_3b": _size(24, 1024, 32, intermediate_size=16_384, head_dim=128),
    "t5_11b": _size(24, 1024, 128, intermediate_size=65_536, head_dim=128),
    # google-research/t5x, t5_1_1 configurations; mT5 (Xue et al. 2021, section 3.2)
    "t5_v1_1_small": _size(8, 512, 6, intermediate_size=1024, head_dim=64),
    "t5_v1_1_base": _size(12, 768, intermediate_size=2048),
    "t5_v1_1_large": _size(24, 1024, intermediate_size=2816),
    "t5_v1_1_xl": _size(24, 2048, intermediate_size=5120),
    "t5_v1_1_xxl": _size(24, 4096, intermediate_size=10_240),
    "ul2_20b": _size(32, 4096, 16),  # Tay et al. 2023, section 5.1
    # Brown et al. 2020, table 2.1; XL with 16 heads, for 24 of 128 do not fit in 2048, and 13B with
    # a width of 5120, as 5140 is not a multiple of 40
    "gpt3_large": _size(24, 1536, 16),
    "gpt3_xl": _size(24, 2048, 16),
    "gpt3_2_7b": _size(32, 2560, 32),
    "gpt3_6_7b": _size(32, 4096, 32),
    "gpt3_13b": _size(40, 5120, 40),
    "gpt3_175b": _size(96, 12_288, 96),
    # Zhang et al. 2022, table 1; 2.7B, 6.7B, 13B and 175B are GPT-3's
    "opt_1_3b": _size(24, 2048, 32),
    "opt_30b": _size(48, 7168, 56),
    "opt_66b": _size(64, 9216, 72),
    # Touvron et al. 2023, table 2, and facebookresearch/llama, model.py, for the feed-forward size
    "llama_7b": _size(32, 4096, 32, intermediate_size=11_008),
    "llama_13b": _size(40, 5120, 40, intermediate_size=13_824),
    "llama_33b": _size(60, 6656, 52, intermediate_size=17_920),
    "llama_65b": _size(80, 8192, 64, intermediate_size=22_016),
    # Touvron et al. 2023 (Llama 2), table 1, with num_kv_heads: 8; 7B and 13B are LLaMA's
    "llama2_34b": _size(48, 8192, 64, intermediate_size=22_016),
    "llama2_70b": _size(80, 8192, 64, intermediate_size=28_672),
    # Grattafiori et al. 2024, table 3, with num_kv_heads: 8
    "llama3_8b": _size(32, 4096, 32, intermediate_size=14_336),
    "llama3_70b": _size(80, 8192, 64, intermediate_size=28_672),
    "llama3_405b": _size(126, 16_384, 128, intermediate_size=53_248),
    "mistral_7b": _size(32, 4096, 32, intermediate_size=14_336),  # Jiang et al. 2023, table 1
    # Bai et al. 2023, table 1, and section 2.3: 8/3 of the width, to a multiple of 128
    "qwen_1_8b": _size(24, 2048, 16, intermediate_size=5504),
    "qwen_7b": _size(32, 4096, 32, intermediate_size=11_008),
    "qwen_14b": _size(40, 5120, 40, intermediate_size=13_696),
    # Gemma Team 2024, table 1, which counts both halves of GeGLU; 2B with num_kv_heads: 1
    "gemma_2b": _size(18, 2048, 8, intermediate_size=16_384, head_dim=256),
    "gemma_7b": _size(28, 3072, 16, intermediate_size=24_576, head_dim=256),
}
