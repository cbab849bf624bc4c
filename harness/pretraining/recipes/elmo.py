"""ELMo: Peters et al. 2018, NAACL; where the paper is silent, allenai/bilm-tf (train_elmo.py).

ELMo is meant to be used frozen, under a learned mix of its layers: `evaluate.adaptation: frozen`.
Its inputs are tokens; `pretrain.model: {characters: 50}` gives it the character convolutions of
section 3.4, over words with `pretrain.tokenizer: {algorithm: word}`.
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

GRADIENT_SCALE = 0.5 * 20
"""bilm-tf's gradient over ours, which is that of the sum of both losses: training.py halves the sum
(`total_loss`) and multiplies it by the 20 steps of a sequence (`unroll_steps`, train_elmo.py)."""

elmo = Pretrain(
    recipe="elmo",
    corpus=MicroworldCorpus(),  # the paper: the 1B Word Benchmark (Chelba et al. 2014)
    # The paper: characters in, 793,471 words out; here what BERT reads (Devlin et al. 2019).
    tokenizer=Tokenizer(algorithm="wordpiece", vocab_size=30_522, lowercase=False),
    packing=Packing(format="full_sentences"),
    objective=OBJECTIVES["bilm"],  # section 3.1
    model=Architecture(
        family="elmo",
        dropout=0.1,  # train_elmo.py
        tie_embeddings=False,  # section 3.1 ties the directions' layers, not these
    ),
    # Section 3.4: two layers, whose states have 512 numbers a direction. There they are projected
    # from 4096; here is no projection. Heads and feed-forward layers a recurrent network has none.
    size=Size(num_layers=2, hidden_size=1024, num_heads=1, intermediate_size=4096),
    optimizer=Optimizer(
        kind="adagrad",  # training.py, as the rate
        learning_rate=0.2,
        weight_decay=0.0,
        initial_accumulator=1.0 / GRADIENT_SCALE**2,  # training.py
        max_grad_norm=10.0 / GRADIENT_SCALE,  # train_elmo.py, all_clip_norm_val
    ),
    schedule=Schedule(warmup_fraction=0.0, decay="constant"),
    # train_elmo.py: 3 x 128 sequences of 20 tokens, with the state kept from one to the next. Here
    # the state is reset, so sequences are longer, with as many tokens per update.
    phases=(Phase(fraction=1.0, sequence_length=128),),
    batch_size=60,
    budget=Budget(tokens=10 * 768_648_884),  # section 3.4: 10 epochs; train_elmo.py: their tokens
)
