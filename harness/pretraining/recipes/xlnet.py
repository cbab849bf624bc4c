"""XLNet large: Yang et al. 2019, NeurIPS; where the paper is silent, zihangdai/xlnet."""

from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import Tokenizer
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import NextToken
from harness.pretraining.objectives.transforms.order import PermutationOrder
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import Schedule

xlnet = Pretrain(
    recipe="xlnet",
    corpus=MicroworldCorpus(),  # section 3.1: 32.9B pieces of five corpora
    # Section 3.1: SentencePiece; 32,000 pieces, cased (README.md).
    tokenizer=Tokenizer(algorithm="unigram", vocab_size=32_000, lowercase=False),
    # Section 2.5: two segments; the next-sentence loss is left out. Ours start with [CLS], theirs
    # end with it, and keep half of the text before as a memory.
    packing=Packing(format="segment_pair"),
    objective=Objective(
        transform=PermutationOrder(
            max_span_length=5,  # section 3.1
            context_factor=6,  # section 3.1, K
        ),
        representation="permuted",
        output=NextToken(),
    ),
    model=Architecture(family="xlnet", max_position=512, dropout=0.1, initializer_range=0.02),
    size=SIZES["large"],  # section 3.1
    optimizer=Optimizer(
        learning_rate=4e-4,  # appendix A.4, as the two below
        weight_decay=0.01,
        eps=1e-6,
        max_grad_norm=1.0,  # train.py
        bias_correction=False,  # model_utils.py, AdamWeightDecayOptimizer
    ),
    schedule=Schedule(warmup_fraction=40_000 / 500_000, decay="linear"),  # appendix A.4
    phases=(Phase(fraction=1.0, sequence_length=512),),  # section 3.1
    batch_size=8192,  # section 3.1, as the next
    budget=Budget(steps=500_000),
)
