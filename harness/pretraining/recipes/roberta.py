"""RoBERTa: Liu et al. 2019, arXiv 1907.11692. BERT with exactly these changes."""

from harness.data.corpora.packing import Packing
from harness.data.tokenizers import Tokenizer
from harness.models import Architecture
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

roberta = bert.model_copy(
    update={
        "recipe": "roberta",
        # Section 4.4, and the released vocabulary.
        "tokenizer": Tokenizer(algorithm="byte_bpe", vocab_size=50_265, lowercase=False),
        "packing": Packing(format="full_sentences"),  # section 4.2; no short sequences, section 3.1
        "objective": Objective(masking="dynamic", sentence_pair="none"),  # sections 4.1 and 4.2
        "model": Architecture(family="roberta"),
        "optimizer": Optimizer(
            learning_rate=6e-4,  # appendix A, base
            beta2=0.98,  # section 3.1
            eps=1e-6,
            weight_decay=0.01,
            max_grad_norm=0.0,  # appendix A
        ),
        "schedule": Schedule(warmup_fraction=24_000 / 500_000),  # appendix A, base: 24k of 500k
        "phases": (Phase(fraction=1.0, sequence_length=512),),  # section 3.1
        "batch_size": 8192,  # appendix A
        "budget": Budget(steps=500_000),  # appendix A
    }
)
