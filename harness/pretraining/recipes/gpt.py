"""GPT: Radford et al. 2018; where the paper is silent, openai/finetune-transformer-lm."""

from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import Tokenizer
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import Schedule

STEPS = 960_800  # Clark et al. 2020's count of the 100 epochs (google-research/electra)

gpt = Pretrain(
    recipe="gpt",
    corpus=MicroworldCorpus(),  # section 4.1: BooksCorpus, contiguous text of over 7,000 books
    # Section 4.1: 40,000 merges and the characters. Theirs, `tokenizer: bpe`, are of characters;
    # ours are of bytes.
    tokenizer=Tokenizer(algorithm="byte_bpe", vocab_size=40_478, lowercase=True),
    packing=Packing(format="full_sentences"),  # section 4.1: contiguous sequences
    objective=OBJECTIVES["clm"],  # section 3.1
    model=Architecture(
        family="gpt", max_position=512, dropout=0.1, attention_dropout=0.1, initializer_range=0.02
    ),  # section 4.1
    size=SIZES["base"],  # section 4.1: 12 layers, 768, 12 heads, 3072
    optimizer=Optimizer(
        learning_rate=2.5e-4,  # section 4.1, as weight_decay
        weight_decay=0.01,
        beta1=0.9,  # train.py, as the three below
        beta2=0.999,
        eps=1e-8,
        max_grad_norm=1.0,
    ),
    # Section 4.1: 2,000 updates of warmup, then a cosine to 0.
    schedule=Schedule(warmup_fraction=2_000 / STEPS, decay="cosine"),
    phases=(Phase(fraction=1.0, sequence_length=512),),  # section 4.1
    batch_size=64,  # section 4.1
    budget=Budget(steps=STEPS),
)
