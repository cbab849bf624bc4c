"""Gemma 7B: Gemma Team 2024, arXiv 2403.08295. The training is not published but for its length,
and here Llama 2's."""

from harness.data.tokenizers import Tokenizer
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.recipes.llama2 import llama2
from harness.pretraining.schedule import Schedule

TOKENS = 6_000_000_000_000  # section 4; 2B: 3T

gemma = llama2.model_copy(
    update={
        "recipe": "gemma",
        # Section 4: SentencePiece, digits split, bytes of unknown characters; 256k entries.
        "tokenizer": Tokenizer(algorithm="sentencepiece_bpe", vocab_size=256_000, lowercase=False),
        # Section 2: 8,192 tokens, shared embeddings; 2B has num_kv_heads: 1.
        "model": Architecture(
            family="gemma", max_position=8192, dropout=0.0, attention_dropout=0.0
        ),
        "size": SIZES["gemma_7b"],  # table 1
        "schedule": Schedule(warmup_fraction=2_000 * 512 * 8192 / TOKENS, decay="cosine"),
        "phases": (Phase(fraction=1.0, sequence_length=8192),),
        "batch_size": 512,  # as many tokens as Llama 2's
        "budget": Budget(tokens=TOKENS),
    }
)
