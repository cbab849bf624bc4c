"""TinyBERT: Jiao et al. 2020, Findings of EMNLP, its general distillation; where the paper is
silent, huawei-noah/Pretrained-Language-Model, TinyBERT.

The student learns hidden states and attention scores alone, of text that is hardly masked, so that
its token head is not trained and its held-out loss means nothing.
"""

from harness.models import MODELS, SIZES
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.distillation import Distillation
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.masking import TokenMasking
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

tinybert = bert.model_copy(
    update={
        "recipe": "tinybert",
        # The packing is BERT's: pregenerate_training_data.py.
        "objective": Objective(
            # pregenerate_training_data.py: masked_lm_prob 0, which leaves 1 token of a sequence.
            transform=TokenMasking(mask_rate=0.001, mask_token_rate=0.8, random_token_rate=0.1),
            masking="dynamic",  # new data for each epoch
            sentence_pair="none",
            distillation=Distillation(
                hidden_weight=1.0,  # equation 11, as the next, without the prediction layer
                attention_weight=1.0,
                soft_target_weight=0.0,
                token_weight=0.0,
                cosine_weight=0.0,
            ),
        ),
        "model": MODELS["bert"],
        "size": SIZES["tinybert4"],  # section 4.1
        "teacher": bert,  # section 4.1
        "optimizer": Optimizer(
            learning_rate=5e-5,  # general_distill.py, as the two below
            weight_decay=0.01,
            bias_correction=False,  # BertAdam
            eps=1e-6,  # BertAdam, as the two below
            beta2=0.999,
            max_grad_norm=1.0,
        ),
        "schedule": Schedule(warmup_fraction=0.1, decay="linear"),  # general_distill.py
        "phases": (Phase(fraction=1.0, sequence_length=128),),  # section 4.1
        "batch_size": 256,  # README.md
        # Section 4.1: 3 epochs of the 2,500M words of English Wikipedia.
        "budget": Budget(tokens=3 * 2_500_000_000),
    }
)
