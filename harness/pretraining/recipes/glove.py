"""GloVe: Pennington, Socher and Manning 2014, EMNLP.

The vectors are the sums of those of words and of contexts. As in `cbow`, they are meant to be used
frozen: `evaluate.adaptation: frozen`. Whole words, as in the paper, are `tokenizer: {algorithm:
word, vocab_size: 400_000, lowercase: true}`. The published vectors themselves are `cbow` with
`model.vectors`.
"""

from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import Tokenizer
from harness.models import Architecture, Size
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import Schedule

SEQUENCE_LENGTH, BATCH_SIZE = 128, 64
"""Ours, as in `skipgram`: the paper's updates are of single counts."""

glove = Pretrain(
    recipe="glove",
    corpus=MicroworldCorpus(),  # the paper: Wikipedia and Gigaword 5, or Common Crawl
    # The paper: the 400,000 most frequent lowercase words (section 4.2); here what `cbow` and
    # `skipgram` read, whose windows cross documents.
    tokenizer=Tokenizer(algorithm="wordpiece", vocab_size=30_522, lowercase=False),
    packing=Packing(format="full_sentences"),  # not used: counts stay within documents
    # Ten words on each side (section 4.2), x_max = 100 and alpha = 3/4 (section 3).
    objective=OBJECTIVES["glove"],
    # stanfordnlp/GloVe glove.c: uniform within 0.5 / 300 of 0, whose standard deviation this is.
    model=Architecture(family="static", dropout=0.0, initializer_range=0.00096),
    # Section 4.2: 300 dimensions. Layers, heads and feed-forward layers it has none.
    size=Size(num_layers=1, hidden_size=300, num_heads=1, intermediate_size=8),
    # Section 4.2: AdaGrad from 0.05. glove.c starts its sums at 1, with half the gradient of a
    # single count; ours is that of the mean over a batch.
    optimizer=Optimizer(
        kind="adagrad",
        learning_rate=0.05,
        initial_accumulator=(2 / (BATCH_SIZE * SEQUENCE_LENGTH)) ** 2,
        eps=1e-10,  # glove.c has none; far below the root of the sum
        weight_decay=0.0,
        max_grad_norm=0.0,
    ),
    schedule=Schedule(warmup_fraction=0.0, decay="constant"),  # AdaGrad lowers the rate
    phases=(Phase(fraction=1.0, sequence_length=SEQUENCE_LENGTH),),
    batch_size=BATCH_SIZE,
    # Of counts. The paper: 100 passes over the nonzero ones (section 4.2), however many the text
    # has; ours: as many as `skipgram` has tokens.
    budget=Budget(tokens=1_000_000_000),
)
