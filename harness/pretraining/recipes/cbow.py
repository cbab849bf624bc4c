"""CBOW: Mikolov et al. 2013, arXiv 1301.3781.

Static vectors are meant to be used frozen: `evaluate.adaptation: frozen`. GloVe's own, or any in
its format, are this recipe with `model.vectors`, their width as `size.hidden_size`, and
`budget: {tokens: 0}`. Whole words, as in the paper, are `tokenizer: {algorithm: word, vocab_size:
1_000_000}`, negative sampling in place of the full softmax `objective: cbow_negative_sampling`.
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

cbow = Pretrain(
    recipe="cbow",
    corpus=MicroworldCorpus(),  # the paper: Google News
    # The paper: whole words, up to 1M (section 4.2); here what BERT reads (Devlin et al. 2019).
    tokenizer=Tokenizer(algorithm="wordpiece", vocab_size=30_522, lowercase=False),
    packing=Packing(format="full_sentences"),
    objective=OBJECTIVES["cbow"],  # section 3.1
    model=Architecture(
        family="static", context_size=4, dropout=0.0
    ),  # section 3.1: four on each side
    # Table 5: 300 dimensions. Layers, heads and feed-forward layers it has none.
    size=Size(num_layers=1, hidden_size=300, num_heads=1, intermediate_size=8),
    # Section 4.2: gradient descent from 0.025 down to 0, by updates of single words, whose rate is
    # not that of a batch. AdamW and its rate are ours.
    optimizer=Optimizer(learning_rate=1e-3, weight_decay=0.0, max_grad_norm=0.0),
    schedule=Schedule(warmup_fraction=0.0, decay="linear"),  # section 4.2
    phases=(Phase(fraction=1.0, sequence_length=128),),
    batch_size=64,  # ours: the paper's updates are of single words
    budget=Budget(tokens=3 * 783_000_000),  # table 5: 3 epochs of 783M words
)
