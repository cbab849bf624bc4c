"""Llama 3 8B: Grattafiori et al. 2024, arXiv 2407.21783. LLaMA with exactly these changes, before
its context is extended; the schedule, published for 405B alone, is that one's."""

from harness.data.tokenizers import Tokenizer
from harness.models import SIZES
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.recipes.llama import llama
from harness.pretraining.schedule import Schedule

llama3 = llama.model_copy(
    update={
        "recipe": "llama3",
        # Section 3.2: BPE of bytes (tiktoken), 128,000 tokens; 256 special ones in the release.
        "tokenizer": Tokenizer(algorithm="byte_bpe", vocab_size=128_256, lowercase=False),
        # Table 3. Theirs has a mask between documents (section 3.2), ours none.
        "model": llama.model.model_copy(
            update={"max_position": 8192, "num_kv_heads": 8, "rope_base": 500_000.0}
        ),
        "size": SIZES["llama3_8b"],  # table 3, as the rate of 3e-4, which is LLaMA's
        # Section 3.4.1: 8,000 updates of warmup, then a cosine, theirs to 1 % and ours to 0.
        "schedule": Schedule(warmup_fraction=8_000 / 1_200_000, decay="cosine"),
        # Section 3.4.1: 8,192 tokens, 16M an update, after 2.87T tokens; fewer before.
        "phases": (Phase(fraction=1.0, sequence_length=8192),),
        "batch_size": 2048,
        "budget": Budget(tokens=15_000_000_000_000),  # section 1
    }
)
