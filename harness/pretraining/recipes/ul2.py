"""UL2: Tay et al. 2023, ICLR; the numbers of its ablations, section 4."""

from harness.data.tokenizers import Tokenizer
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.recipes.t5_v1_1 import t5_v1_1
from harness.pretraining.schedule import Schedule

STEPS = 500_000  # section 4
MODES = ("[NLU]", "[NLG]", "[S2S]")  # section 3.3 and the released vocabulary

ul2 = t5_v1_1.model_copy(
    update={
        "recipe": "ul2",
        # As T5's, and a token for each mode.
        "tokenizer": Tokenizer(
            algorithm="unigram",
            vocab_size=32_100 + len(MODES),
            lowercase=False,
            sentinels=100,
            extra_tokens=MODES,
        ),
        "objective": OBJECTIVES["ul2"],  # section 3.1
        # Section 4: AdaFactor again, and SwiGLU, where T5 v1.1 has GEGLU.
        # 1/sqrt(max(n, k)), k = 10^4 as T5's.
        "schedule": Schedule(warmup_fraction=10_000 / STEPS, decay="inverse_sqrt"),
        "phases": (Phase(fraction=1.0, sequence_length=512),),  # section 4, as the next
        "batch_size": 128,
        "budget": Budget(steps=STEPS),
    }
)
