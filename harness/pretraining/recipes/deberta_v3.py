"""DeBERTaV3: He et al. 2023, ICLR; where the paper is silent, microsoft/DeBERTa.

The base model of section 3.1, on Wikipedia and BooksCorpus; generator and discriminator take each
step together: see `learners.replaced_token`.
"""

from harness.data.corpora.packing import Packing
from harness.data.tokenizers import Tokenizer
from harness.models import MODELS, SIZES
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import ReplacedToken
from harness.pretraining.objectives.transforms.masking import TokenMasking
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

deberta_v3 = bert.model_copy(
    update={
        "recipe": "deberta_v3",
        # Section 4.1: SentencePiece, 128K; experiments/language_model/rtd_base.json: 128,100.
        "tokenizer": Tokenizer(algorithm="unigram", vocab_size=128_100, lowercase=False),
        # experiments/language_model/prepare_data.py: all text in a row, cut at every 510 tokens.
        "packing": Packing(format="full_sentences"),
        "objective": Objective(
            transform=TokenMasking(
                mask_rate=0.15,  # section 2.2
                mask_token_rate=1.0,  # apps/tasks/rtd_task.py: mask tokens only, single tokens
                random_token_rate=0.0,
            ),
            masking="dynamic",
            output=ReplacedToken(
                generator_width=1.0,  # rtd_base.json, as the next
                generator_depth=0.5,
                discriminator_weight=50.0,  # section 3.1
                embedding_sharing="gradient_disentangled",  # section 3.3
            ),
        ),
        "model": MODELS["deberta_v3"],
        "size": SIZES["base"],  # section 3.1
        "optimizer": Optimizer(
            learning_rate=5e-4,  # section 3.1
            beta2=0.999,  # He et al. 2021, table 8, as the three below
            eps=1e-6,
            weight_decay=0.01,
            max_grad_norm=1.0,
            bias_correction=False,  # DeBERTa/optims/xadam.py
        ),
        "schedule": Schedule(warmup_fraction=10_000 / 125_000),  # section 3.1
        "phases": (Phase(fraction=1.0, sequence_length=512),),  # rtd.sh
        "batch_size": 2048,  # section 3.1
        "budget": Budget(steps=125_000),  # section 3.1
    }
)
