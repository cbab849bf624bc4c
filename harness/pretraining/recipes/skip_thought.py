"""Skip-Thought: Kiros et al. 2015, NeurIPS, uni-skip; where the paper is silent, its authors' code
(ryankiros/skip-thoughts).

A sentence encoder, to be used frozen under a linear classifier: `evaluate.adaptation: frozen`. Its
encoder is an LSTM; `pretrain.model: {cell: gru}` gives the GRU of section 2.1.
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

skip_thought = Pretrain(
    recipe="skip_thought",
    corpus=MicroworldCorpus(),  # the paper: BookCorpus (section 2)
    # Section 3.1: 20,000 words; here as many subwords, of the kind that BERT reads.
    tokenizer=Tokenizer(algorithm="wordpiece", vocab_size=20_000, lowercase=False),
    packing=Packing(format="doc_sentences"),
    objective=OBJECTIVES["skip_thought"],  # section 2.1
    model=Architecture(
        family="lstm",  # section 2.1: `cell="gru"`, which came after the first studies
        embedding_size=620,  # training/train.py
        tie_embeddings=False,  # section 2.1, V
        max_position=1024,  # an LSTM has no positions
        dropout=0.0,  # training/model.py
    ),
    # Section 3.1: 2400 units. Heads and feed-forward layers a recurrent network has none.
    size=Size(num_layers=1, hidden_size=2400, num_heads=1, intermediate_size=9600),
    optimizer=Optimizer(  # section 3.1: Adam
        learning_rate=2e-4,  # decoding/optim.py, as the three below
        beta1=0.9,
        beta2=0.999,
        eps=1e-8,
        weight_decay=0.0,  # training/train.py
        max_grad_norm=10.0,  # section 3.1
    ),
    schedule=Schedule(warmup_fraction=0.0, decay="constant"),
    # There a batch has 128 sentences (section 3.1), of 13 words in the mean (table 1). Here it has
    # about as many, in runs of neighbours.
    phases=(Phase(fraction=1.0, sequence_length=512),),
    batch_size=4,
    budget=Budget(tokens=5 * 984_846_357),  # training/train.py: 5 epochs; table 1: words
)
