"""DeBERTa: He et al. 2021, ICLR; where the paper is silent, microsoft/DeBERTa.

The base model, without the enhanced mask decoder (section 3.2), as earlier results of this recipe;
`pretrain.model: {mask_decoder: enhanced}` adds it.
"""

from harness.data.corpora.packing import Packing
from harness.data.tokenizers import TOKENIZERS
from harness.models import MODELS
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.masking import NgramMasking
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

deberta = bert.model_copy(
    update={
        "recipe": "deberta",
        "tokenizer": TOKENIZERS["byte_bpe"],  # section 5.1.1: RoBERTa's vocabulary
        # experiments/language_model/prepare_data.py: all text in a row, cut at every 510 tokens.
        "packing": Packing(format="full_sentences"),
        "objective": Objective(
            # experiments/language_model/mlm.sh: max_ngram 3.
            transform=NgramMasking(max_ngram=3, mask_rate=0.15),
            masking="dynamic",
        ),
        "model": MODELS["deberta"],  # section 3.1; dropout 0.1 of both kinds, table 8
        "optimizer": Optimizer(
            learning_rate=2e-4,  # table 8, base, as the four below
            beta2=0.999,
            eps=1e-6,
            weight_decay=0.01,
            max_grad_norm=1.0,
            bias_correction=False,  # DeBERTa/optims/xadam.py
        ),
        "schedule": Schedule(warmup_fraction=10_000 / 1_000_000),  # table 8
        "phases": (Phase(fraction=1.0, sequence_length=512),),  # distances up to 512, appendix A.5
        "batch_size": 2048,  # table 8: 2k
        "budget": Budget(steps=1_000_000),  # table 8
    }
)
