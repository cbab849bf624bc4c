"""DistilBERT: Sanh et al. 2019, arXiv 1910.01108; where the paper is silent, the research project
`distillation` of huggingface/transformers.

There the tokens to predict are drawn so that rare ones come more often (`mlm_smoothing`); here all
are alike.
"""

from harness.data.corpora.packing import Packing
from harness.models import MODELS, SIZES
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.distillation import Distillation
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.masking import TokenMasking
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

distilbert = bert.model_copy(
    update={
        "recipe": "distilbert",
        "packing": Packing(format="doc_sentences"),  # lm_seqs_dataset.py: texts as they are
        "objective": Objective(
            # train.py: mlm_mask_prop, word_mask and word_rand.
            transform=TokenMasking(mask_rate=0.15, mask_token_rate=0.8, random_token_rate=0.1),
            masking="dynamic",  # section 3, as the next
            sentence_pair="none",
            distillation=Distillation(
                soft_target_weight=5.0,  # README.md, as the two below
                token_weight=2.0,
                cosine_weight=1.0,
                temperature=2.0,  # train.py
                init_from_teacher=True,  # section 3
            ),
        ),
        "model": MODELS["distilbert"],  # section 3: no segments, no pooler
        "size": SIZES["half_base"],  # section 3
        "teacher": bert,  # section 3
        "optimizer": Optimizer(
            learning_rate=5e-4,  # train.py, as the three below
            weight_decay=0.0,
            eps=1e-6,
            max_grad_norm=5.0,
            beta2=0.98,  # distiller.py
        ),
        "schedule": Schedule(warmup_fraction=0.05, decay="linear"),  # train.py, distiller.py
        "phases": (Phase(fraction=1.0, sequence_length=512),),
        "batch_size": 4000,  # section 3: up to 4K
        # train.py: 3 passes over the 3.3B words of Devlin et al. 2019, section 3.1.
        "budget": Budget(tokens=3 * 3_300_000_000),
    }
)
