"""SpanBERT: Joshi et al. 2020, TACL; where the paper is silent, facebookresearch/SpanBERT."""

from harness.data.corpora.packing import Packing
from harness.data.tokenizers import Tokenizer
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.masking import SpanMasking
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

spanbert = bert.model_copy(
    update={
        "recipe": "spanbert",
        # The released vocabulary is that of BERT's cased models.
        "tokenizer": Tokenizer(algorithm="wordpiece", vocab_size=28_996, lowercase=False),
        # Section 3.3: one segment of up to 512 tokens of one document, and no NSP.
        "packing": Packing(format="doc_sentences"),
        "objective": Objective(
            # Section 3.1.
            transform=SpanMasking(mask_rate=0.15, geometric_p=0.2, max_span_length=10),
            masking="dynamic",  # section 4.2: other masks in each epoch
            span_boundary=True,  # section 3.2; weight 1 of its loss beside masked LM's
        ),
        "optimizer": Optimizer(
            learning_rate=1e-4,  # section 4.2, as the two below
            eps=1e-8,
            weight_decay=0.1,  # the README's command: 0.01
            max_grad_norm=1.0,  # pretraining/README.md, clip-norm
        ),
        "schedule": Schedule(warmup_fraction=10_000 / 2_400_000),  # section 4.2
        "phases": (Phase(fraction=1.0, sequence_length=512),),  # section 3.3
        "batch_size": 256,  # section 4.2
        "budget": Budget(steps=2_400_000),  # section 4.2; the paper's size is BERT's large
    }
)
