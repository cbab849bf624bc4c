"""LM-LSTM: Dai and Le 2015, NeurIPS; numbers of the code that its first author published
(tensorflow/models, research/adversarial_text, README.md).

An LSTM language model whose weights start a classifier: `evaluate.adaptation: full`.
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

lm_lstm = Pretrain(
    recipe="lm_lstm",
    corpus=MicroworldCorpus(),  # the paper: reviews of IMDB (Maas et al. 2011)
    # The code: 86,934 words as written; here what BERT reads (Devlin et al. 2019).
    tokenizer=Tokenizer(algorithm="wordpiece", vocab_size=30_522, lowercase=False),
    packing=Packing(format="doc_sentences"),
    objective=OBJECTIVES["clm"],  # section 2
    model=Architecture(
        family="lstm",
        embedding_size=256,
        max_position=1024,  # an LSTM has no positions; source and target of sa_lstm are 2 x 400
        dropout=0.5,  # there of the embeddings only, the same at all steps
    ),
    # Heads and feed-forward layers a recurrent network has none.
    size=Size(num_layers=1, hidden_size=1024, num_heads=1, intermediate_size=4096),
    optimizer=Optimizer(
        learning_rate=1e-3,
        beta1=0.9,  # tf.train.AdamOptimizer (layers.py), as the two below
        beta2=0.999,
        eps=1e-8,
        weight_decay=0.0,
        max_grad_norm=1.0,
    ),
    # There the rate falls by 0.9999 with each update, to 5e-5 of the first.
    schedule=Schedule(warmup_fraction=0.0, decay="linear"),
    # There the state is kept within a review.
    phases=(Phase(fraction=1.0, sequence_length=400),),
    batch_size=256,
    budget=Budget(steps=100_000),
)
