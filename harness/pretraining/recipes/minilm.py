"""MiniLM: Wang et al. 2020, NeurIPS, in its second version: Wang et al. 2021, Findings of ACL. The
student of 6 layers and 384 units learns the relations of BERT's last layer alone, of text without
masks, so that its token head and what follows the attention in its last layer are not trained, and
its held-out loss means nothing.
"""

from harness.models import MODELS, SIZES
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.distillation import Distillation, Relations
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.masking import TokenMasking
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

minilm = bert.model_copy(
    update={
        "recipe": "minilm",
        # The packing is BERT's: Wang et al. 2020, section 4.1.
        "objective": Objective(
            # Nothing is masked: the chosen token stays as it is.
            transform=TokenMasking(mask_rate=0.001, mask_token_rate=0.0, random_token_rate=0.0),
            masking="dynamic",
            sentence_pair="none",
            distillation=Distillation(
                # Wang et al. 2021, section 4.1: 48 heads and the last layer of a base teacher
                relations=Relations(heads=None, teacher_layer=None, weight=1.0),
                soft_target_weight=0.0,
                token_weight=0.0,
                cosine_weight=0.0,
            ),
        ),
        "model": MODELS["bert"],
        "size": SIZES["minilm6"],
        "teacher": bert,
        "optimizer": Optimizer(
            learning_rate=6e-4,  # Wang et al. 2021, section 4.1, as the two below
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.01,  # Wang et al. 2020, section 4.1
            eps=1e-6,  # not stated: BERT's, as the next
            max_grad_norm=1.0,
        ),
        "schedule": Schedule(warmup_fraction=4_000 / 400_000),  # Wang et al. 2020, section 4.1
        "phases": (Phase(fraction=1.0, sequence_length=512),),  # the same
        "batch_size": 256,  # Wang et al. 2021, section 4.1, as the next
        "budget": Budget(steps=400_000),
    }
)
