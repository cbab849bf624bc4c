"""T5: Raffel et al. 2020, JMLR; the numbers of its study's baseline, section 3.1."""

from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import Tokenizer
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import Schedule

STEPS = 2**19  # section 3.1.2
RAW_TOKENS = 568
"""Text of which the encoder reads 512 tokens once 15 % are spans of 3 (t5/data/preprocessors.py,
random_spans_helper)."""

t5 = Pretrain(
    recipe="t5",
    corpus=MicroworldCorpus(),  # section 2.2: C4
    # Section 3.1.3: SentencePiece, 32,000 pieces; 100 sentinels (t5/data/utils.py). The released
    # matrices have 28 further rows that no token has.
    tokenizer=Tokenizer(algorithm="unigram", vocab_size=32_100, lowercase=False, sentinels=100),
    packing=Packing(format="full_sentences"),  # section 3.1.2: sequences packed full
    objective=OBJECTIVES["span_corruption"],  # section 3.7; the baseline's is iid_corruption
    # Section 3.1.2; relative positions are distinguished up to 128, so that length is unbounded.
    model=Architecture(family="t5", max_position=RAW_TOKENS, dropout=0.1, initializer_range=0.02),
    size=SIZES["t5_base"],  # section 3.1.1
    # Section 3.1.2: 1/sqrt(10^4) during the warmup.
    optimizer=Optimizer(kind="adafactor", learning_rate=0.01, weight_decay=0.0, max_grad_norm=0.0),
    # Section 3.1.2: 1/sqrt(max(n, k)), k = 10^4.
    schedule=Schedule(warmup_fraction=10_000 / STEPS, decay="inverse_sqrt"),
    phases=(Phase(fraction=1.0, sequence_length=RAW_TOKENS),),
    batch_size=128,  # section 3.1.2, as the next
    budget=Budget(steps=STEPS),
)
