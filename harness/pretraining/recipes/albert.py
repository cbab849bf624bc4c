"""ALBERT: Lan et al. 2020, ICLR; where the paper is silent, google-research/albert."""

from harness.data.corpora.packing import Packing
from harness.data.tokenizers import TOKENIZERS
from harness.models import MODELS
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.masking import NgramMasking
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

albert = bert.model_copy(
    update={
        "recipe": "albert",
        "tokenizer": TOKENIZERS["unigram"],  # section 4.1: SentencePiece, 30,000 entries
        "packing": Packing(format="segment_pair", short_seq_prob=0.1),  # section 4.1
        "objective": Objective(
            # Section 4.1: n-grams of up to 3, p(n) ~ 1/n; 0.15 and 80/10/10 as BERT's.
            transform=NgramMasking(max_ngram=3, mask_rate=0.15),
            masking="static",  # create_pretraining_data.py, as the next line's dupe_factor
            dupe_factor=40,
            sentence_pair="sop",  # section 3.1
        ),
        "model": MODELS["albert"],  # section 3.1: embeddings of 128, one layer's weights for all
        "optimizer": Optimizer(
            kind="lamb",
            learning_rate=0.00176,  # section 4.1
            eps=1e-6,  # optimization.py, as the two below
            weight_decay=0.01,
            max_grad_norm=1.0,
        ),
        "schedule": Schedule(warmup_fraction=3_125 / 125_000),  # README.md, num_warmup_steps
        "phases": (Phase(fraction=1.0, sequence_length=512),),  # section 4.1
        "batch_size": 4096,  # section 4.1
        "budget": Budget(steps=125_000),  # section 4.1
    }
)
