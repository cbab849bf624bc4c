"""ModernBERT: Warner et al. 2024, arXiv 2412.13663, the base model before its context is extended;
numbers of AnswerDotAI/ModernBERT, modernbert-base-pretrain.yaml, if nothing else is said."""

from harness.data.corpora.packing import Packing
from harness.data.tokenizers import Tokenizer
from harness.models import Architecture, Size
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.masking import TokenMasking
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

TOKENS = 1_719_000_000_000
"""max_duration."""

modernbert = bert.model_copy(
    update={
        "recipe": "modernbert",
        "tokenizer": Tokenizer(algorithm="byte_bpe", vocab_size=50_368, lowercase=False),
        # sequence_packing. Theirs has a mask between documents, ours none.
        "packing": Packing(format="full_sentences"),
        # Section 2.2.2: a mask rate of 30 %, no NSP.
        "objective": Objective(transform=TokenMasking(mask_rate=0.3), masking="dynamic"),
        # Published: dropout of 0.1 after the attention alone. transformers has one rate for both
        # the attention's weights and its output, and its released configuration sets it to 0.
        "model": Architecture(
            family="modernbert",
            max_position=1024,
            dropout=0.0,
            attention_dropout=0.0,
            rope_base=10_000.0,  # section 2.2.2: 160,000 only once the context is extended
        ),
        "size": Size(num_layers=22, hidden_size=768, num_heads=12, intermediate_size=1152),
        "optimizer": Optimizer(
            kind="stable_adamw",  # section 2.2.2
            learning_rate=8e-4,
            beta1=0.9,
            beta2=0.98,
            eps=1e-6,
            # Theirs is 1e-5, not multiplied by the learning rate; here it is, so that the rate at
            # the peak makes the same of 1e-5 / 8e-4.
            weight_decay=1e-5 / 8e-4,
            max_grad_norm=0.0,  # the optimizer clips its updates
        ),
        # Constant after the warmup of 3B tokens. The published decay to 0 (1 - sqrt) is over the
        # last 50B tokens of the later context extension, section 2.2.2, and not part of this run;
        # nor is the batch that grows from 768 over the first 50B.
        "schedule": Schedule(warmup_fraction=3_000_000_000 / TOKENS, decay="constant"),
        "phases": (Phase(fraction=1.0, sequence_length=1024),),
        "batch_size": 4608,
        "budget": Budget(tokens=TOKENS),
    }
)
