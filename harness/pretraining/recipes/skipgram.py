"""Skip-gram with negative sampling: Mikolov et al. 2013, arXiv 1310.4546.

The vectors are those that read; their output vectors only train them. As in `cbow`, they are meant
to be used frozen: `evaluate.adaptation: frozen`. Whole words, as in the paper, are
`tokenizer: {algorithm: word, vocab_size: 692_000}`.
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

skipgram = Pretrain(
    recipe="skipgram",
    corpus=MicroworldCorpus(),  # the paper: news
    # The paper: 692K whole words (section 3); here what `cbow` reads.
    tokenizer=Tokenizer(algorithm="wordpiece", vocab_size=30_522, lowercase=False),
    packing=Packing(format="full_sentences"),
    # Context size 5 (section 4.1), 5 samples in proportion to frequency^(3/4) (section 2.2, table
    # 1: NEG-5). Frequent words are not subsampled (section 2.3).
    objective=OBJECTIVES["skipgram"],
    model=Architecture(family="static", dropout=0.0),
    # Section 4.1: 300 dimensions. Layers, heads and feed-forward layers it has none.
    size=Size(num_layers=1, hidden_size=300, num_heads=1, intermediate_size=8),
    # As in `cbow`: AdamW for updates of batches; the paper gives neither rate nor schedule.
    optimizer=Optimizer(learning_rate=1e-3, weight_decay=0.0, max_grad_norm=0.0),
    schedule=Schedule(warmup_fraction=0.0, decay="linear"),
    phases=(Phase(fraction=1.0, sequence_length=128),),
    batch_size=64,  # ours: the paper's updates are of single words
    budget=Budget(tokens=1_000_000_000),  # section 3: one billion words, here once
)
