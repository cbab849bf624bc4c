"""mT5 base: Xue et al. 2021, NAACL, section 3.2. T5 v1.1 with exactly these changes."""

from harness.data.tokenizers import Tokenizer
from harness.models import SIZES
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.recipes.t5_v1_1 import t5_v1_1
from harness.pretraining.schedule import Schedule

STEPS = 1_000_000
RAW_TOKENS = 1137
"""Text of which the encoder reads 1,024 tokens (t5/data/preprocessors.py, random_spans_helper)."""

mt5 = t5_v1_1.model_copy(
    update={
        "recipe": "mt5",
        # 250,000 pieces, and T5's sentinels; of mC4, languages by size^0.3 (section 3.1).
        "tokenizer": Tokenizer(
            algorithm="unigram", vocab_size=250_100, lowercase=False, sentinels=100
        ),
        "model": t5_v1_1.model.model_copy(update={"max_position": RAW_TOKENS}),
        "size": SIZES["t5_v1_1_base"],
        # 1/sqrt(max(n, k)), k = 10^4.
        "schedule": Schedule(warmup_fraction=10_000 / STEPS, decay="inverse_sqrt"),
        "phases": (Phase(fraction=1.0, sequence_length=RAW_TOKENS),),
        "batch_size": 1024,
        "budget": Budget(steps=STEPS),
    }
)
