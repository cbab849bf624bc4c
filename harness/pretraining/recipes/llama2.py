"""Llama 2 7B: Touvron et al. 2023, arXiv 2307.09288. LLaMA with exactly these changes."""

from harness.data.tokenizers import TOKENIZERS
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.recipes.llama import llama
from harness.pretraining.schedule import Schedule

TOKENS = 2_000_000_000_000  # table 1

llama2 = llama.model_copy(
    update={
        "recipe": "llama2",
        "tokenizer": TOKENIZERS["sentencepiece_bpe"],  # section 2.2: LLaMA's
        # Table 1: context of 4k; 34B and 70B have num_kv_heads: 8, and a rate of 1.5e-4.
        "model": llama.model.model_copy(update={"max_position": 4096}),
        "optimizer": llama.optimizer.model_copy(update={"eps": 1e-5}),  # section 2.2
        # Section 2.2: 2,000 updates of warmup, then a cosine, theirs to a tenth and ours to 0.
        "schedule": Schedule(warmup_fraction=2_000 * 1024 * 4096 / TOKENS, decay="cosine"),
        "phases": (Phase(fraction=1.0, sequence_length=4096),),
        "batch_size": 1024,  # table 1: 4M tokens
        "budget": Budget(tokens=TOKENS),
    }
)
