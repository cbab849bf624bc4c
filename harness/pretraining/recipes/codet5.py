"""CodeT5 base: Wang et al. 2021, EMNLP. T5 with exactly these changes.

Without the tagging of identifiers, and without generation between code and comments. Spans are T5's
of 3 tokens in the mean, where CodeT5's have 1 to 5 whole words (section 3.2).
"""

from harness.data.tokenizers import Tokenizer
from harness.models import SIZES
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.t5 import t5
from harness.pretraining.schedule import Schedule

INSTANCES = 8_350_000  # section 4.1, functions of eight languages

codet5 = t5.model_copy(
    update={
        "recipe": "codet5",
        # Section 4.2: BPE of bytes, 32,000 entries, and T5's sentinels.
        "tokenizer": Tokenizer(
            algorithm="byte_bpe", vocab_size=32_100, lowercase=False, sentinels=100
        ),
        "objective": OBJECTIVES["codet5"],  # section 3.2
        "size": SIZES["t5_base"],  # section 4.5, as all below; 60M: t5_small
        "optimizer": Optimizer(
            kind="adamw",
            learning_rate=2e-4,
            weight_decay=0.0,  # not published, as eps and max_grad_norm
            eps=1e-8,
            max_grad_norm=1.0,
        ),
        "schedule": Schedule(warmup_fraction=0.0, decay="linear"),
        "phases": (Phase(fraction=1.0, sequence_length=512),),
        "batch_size": 1024,
        "budget": Budget(steps=100 * INSTANCES // 1024),  # 100 epochs of denoising
    }
)
