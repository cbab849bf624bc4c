"""COCO-LM: Meng et al. 2021, NeurIPS; where the paper is silent, microsoft/COCO-LM.

The base model of section 4.1, without T5's relative positions beside the absolute ones.
"""

from harness.data.corpora.packing import Packing
from harness.data.tokenizers import Tokenizer
from harness.models import MODELS, SIZES
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import Contrast, CorrectedToken
from harness.pretraining.objectives.transforms.masking import TokenMasking
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

coco_lm = bert.model_copy(
    update={
        "recipe": "coco_lm",
        # Section 4.1: uncased BPE, 32,768 entries.
        "tokenizer": Tokenizer(algorithm="byte_bpe", vocab_size=32_768, lowercase=True),
        # fairseq's sample-break-mode complete, RoBERTa's
        "packing": Packing(format="full_sentences"),
        "objective": Objective(
            transform=TokenMasking(
                mask_rate=0.15,  # section 3.1
                mask_token_rate=1.0,  # criterions/cocolm.py: predictions at mask tokens alone
                random_token_rate=0.0,
            ),
            masking="dynamic",
            output=CorrectedToken(
                generator_width=1.0,  # section 3.2, as the next
                generator_depth=1 / 3,
                copy_weight=50.0,  # binary_loss_weight of models/cocolm/model.py
                embedding_sharing="shared",  # models/cocolm/model.py, Generator
                contrast=Contrast(
                    crop=0.9,  # section 3.2
                    weight=1.0,  # scl_loss_weight of models/cocolm/model.py
                    temperature=1.0,  # models/cocolm/model.py
                ),
            ),
        ),
        "model": MODELS["bert"],  # section 4.1; dropout 0.1 of both kinds
        "size": SIZES["base"],  # section 4.1
        "optimizer": Optimizer(
            learning_rate=5e-4,  # appendix, hyperparameters of pretraining, base, as the five below
            beta1=0.9,
            beta2=0.98,
            eps=1e-6,
            weight_decay=0.01,
            max_grad_norm=2.0,
        ),
        "schedule": Schedule(warmup_fraction=10_000 / 125_000),  # the same table
        "phases": (Phase(fraction=1.0, sequence_length=512),),  # section 4.1, as the two below
        "batch_size": 2048,
        "budget": Budget(steps=125_000),
    }
)
