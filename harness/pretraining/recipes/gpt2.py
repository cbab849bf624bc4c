"""GPT-2: Radford et al. 2019; what it does not say is GPT-3's of its size (Brown et al. 2020)."""

from harness.data.corpora.packing import Packing
from harness.data.tokenizers import Tokenizer
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.gpt import gpt
from harness.pretraining.schedule import Schedule

TOKENS = 300_000_000_000  # Brown et al. 2020, table 2.1; GPT-2's own number is not published

gpt2 = gpt.model_copy(
    update={
        "recipe": "gpt2",
        # Section 2.2: BPE of bytes.
        "tokenizer": Tokenizer(algorithm="byte_bpe", vocab_size=50_257, lowercase=False),
        "packing": Packing(format="full_sentences"),
        "objective": OBJECTIVES["clm"],  # section 2
        "model": Architecture(family="gpt2", max_position=1024),  # section 2.3
        "size": SIZES["base"],  # table 2, the smallest
        # Section 3 of GPT-2: the rate was tuned by hand for each size; the numbers are Brown et al.
        # 2020's, table 2.1 (125M) and appendix B.
        "optimizer": Optimizer(
            learning_rate=6e-4,
            beta1=0.9,
            beta2=0.95,
            eps=1e-8,
            weight_decay=0.1,
            max_grad_norm=1.0,
        ),
        # Appendix B: warmup over 375M tokens, then a cosine, theirs to a tenth and ours to 0.
        "schedule": Schedule(warmup_fraction=375_000_000 / TOKENS, decay="cosine"),
        "phases": (Phase(fraction=1.0, sequence_length=1024),),  # section 2.3
        "batch_size": 512,  # section 2.3
        "budget": Budget(tokens=TOKENS),
    }
)
