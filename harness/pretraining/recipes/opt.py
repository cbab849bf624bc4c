"""OPT 125M: Zhang et al. 2022, arXiv 2205.01068. GPT-2 with exactly these changes; where the paper
is silent, facebookresearch/metaseq, opt_baselines.py."""

from harness.data.tokenizers import Tokenizer
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Phase
from harness.pretraining.recipes.gpt2 import gpt2
from harness.pretraining.schedule import Schedule

opt = gpt2.model_copy(
    update={
        "recipe": "opt",
        # Section 2.3: GPT-2's; the released matrices have 50,272 rows.
        "tokenizer": Tokenizer(algorithm="byte_bpe", vocab_size=50_272, lowercase=False),
        # Section 2.2. Theirs divides the deviation by sqrt(2 layers) in output layers.
        "model": Architecture(
            family="opt",
            max_position=2048,
            dropout=0.1,
            attention_dropout=0.1,
            initializer_range=0.006,
        ),
        "size": SIZES["base"],  # table 1; optimizer and budget are GPT-2's, which section 2.2 has
        # Section 2.2: 375M tokens of 300B, then linearly, theirs to a tenth and ours to 0.
        "schedule": Schedule(warmup_fraction=375e6 / 300e9, decay="linear"),
        "phases": (Phase(fraction=1.0, sequence_length=2048),),  # section 2.2
        "batch_size": 256,  # table 1: 0.5M tokens
    }
)
