"""BERT: Devlin et al. 2019, NAACL; where the paper is silent, google-research/bert."""

from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import Tokenizer
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.masking import TokenMasking
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import Schedule

bert = Pretrain(
    recipe="bert",
    corpus=MicroworldCorpus(),  # the paper: BooksCorpus and English Wikipedia, 3.3B words
    # Section 3; the uncased model.
    tokenizer=Tokenizer(algorithm="wordpiece", vocab_size=30_522, lowercase=True),
    packing=Packing(format="segment_pair", short_seq_prob=0.1),  # create_pretraining_data.py
    objective=Objective(
        # Section 3.1 and appendix C.2.
        transform=TokenMasking(mask_rate=0.15, mask_token_rate=0.8, random_token_rate=0.1),
        masking="static",  # Liu et al. 2019, section 4.1, on BERT's data
        dupe_factor=10,  # create_pretraining_data.py, dupe_factor
        sentence_pair="nsp",  # section 3.1
    ),
    model=Architecture(
        family="bert", max_position=512, dropout=0.1, attention_dropout=0.1, initializer_range=0.02
    ),  # appendix A.2 and modeling.py
    size=SIZES["base"],
    optimizer=Optimizer(
        learning_rate=1e-4,  # appendix A.2, as the three below
        beta1=0.9,
        beta2=0.999,
        weight_decay=0.01,
        eps=1e-6,  # optimization.py, as the two below
        max_grad_norm=1.0,
        bias_correction=False,
    ),
    schedule=Schedule(warmup_fraction=0.01, decay="linear"),  # A.2: 10k of 1M steps
    phases=(
        Phase(fraction=0.9, sequence_length=128),  # appendix A.2: 128 for 90 % of the steps
        Phase(fraction=0.1, sequence_length=512),
    ),
    batch_size=256,  # appendix A.2
    budget=Budget(steps=1_000_000),  # appendix A.2
)
