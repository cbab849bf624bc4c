"""Qwen 7B: Bai et al. 2023, arXiv 2309.16609. LLaMA with exactly these changes."""

from harness.data.tokenizers import Tokenizer
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget
from harness.pretraining.recipes.llama import llama
from harness.pretraining.schedule import Schedule

TOKENS = 2_400_000_000_000  # table 1

qwen = llama.model_copy(
    update={
        "recipe": "qwen",
        # Section 2.2: BPE of bytes (tiktoken), about 152K; digits are not split here.
        "tokenizer": Tokenizer(algorithm="byte_bpe", vocab_size=151_936, lowercase=False),
        # Section 2.3: biases of queries, keys and values, an output matrix of its own; section 2.4.
        "model": Architecture(
            family="qwen2",
            max_position=2048,
            dropout=0.0,
            attention_dropout=0.0,
            tie_embeddings=False,
        ),
        "size": SIZES["qwen_7b"],  # table 1, as the rate of 3e-4 and 4M tokens, which are LLaMA's
        # Section 2.4: AdamW as LLaMA's, a cosine to a tenth, ours to 0. Decay, clipping and warmup
        # are not published, and LLaMA's.
        "schedule": Schedule(warmup_fraction=2_000 * 2048 * 2048 / TOKENS, decay="cosine"),
        "budget": Budget(tokens=TOKENS),
    }
)
