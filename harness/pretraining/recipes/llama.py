"""LLaMA 7B: Touvron et al. 2023, arXiv 2302.13971. GPT-2 with exactly these changes."""

from harness.data.tokenizers import Tokenizer
from harness.models import Architecture, Size
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.gpt2 import gpt2
from harness.pretraining.schedule import Schedule

TOKENS = 1_000_000_000_000  # table 2

llama = gpt2.model_copy(
    update={
        "recipe": "llama",
        # Section 2.1 and the released vocabulary: SentencePiece BPE that falls back to bytes, as
        # `tokenizer: sentencepiece_bpe`; ours is of bytes throughout.
        "tokenizer": Tokenizer(algorithm="byte_bpe", vocab_size=32_000, lowercase=False),
        "model": Architecture(
            family="llama",
            max_position=2048,  # the released models
            dropout=0.0,  # facebookresearch/llama, model.py: none, as the next
            attention_dropout=0.0,
            tie_embeddings=False,  # model.py
        ),
        "size": Size(
            num_layers=32,  # table 2, as the two below
            hidden_size=4096,
            num_heads=32,
            intermediate_size=11_008,  # section 2.2: 2/3 of 4 x 4096, to a multiple of 256
        ),
        "optimizer": Optimizer(
            learning_rate=3e-4,  # table 2
            beta1=0.9,  # section 2.3, as all below but eps
            beta2=0.95,
            eps=1e-8,  # not published
            weight_decay=0.1,
            max_grad_norm=1.0,
        ),
        # Section 2.3: 2,000 updates of warmup, then a cosine, theirs to a tenth and ours to 0.
        "schedule": Schedule(warmup_fraction=2_000 * 2048 * 2048 / TOKENS, decay="cosine"),
        "phases": (Phase(fraction=1.0, sequence_length=2048),),
        "batch_size": 2048,  # table 2: 4M tokens
        "budget": Budget(tokens=TOKENS),
    }
)
