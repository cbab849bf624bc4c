"""UniLM large: Dong et al. 2019, NeurIPS; where the paper is silent, BERT's preparation and Adam.

The paper starts from BERT large; here the weights are random, unless the experiment has
`init_from: {recipe: bert, size: large, model: {segment_types: 6}}`.
"""

from harness.data.corpora.packing import Packing
from harness.data.tokenizers import Tokenizer
from harness.models import SIZES, Architecture
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

unilm = bert.model_copy(
    update={
        "recipe": "unilm",
        # Section 2.4: the 28,996 entries of BERT's cased models.
        "tokenizer": Tokenizer(algorithm="wordpiece", vocab_size=28_996, lowercase=False),
        # Section 2.3: source and target are contiguous. One-directional parts read pairs, too,
        # where section 2.1 has one segment.
        "packing": Packing(format="segment_pair", short_seq_prob=0.1, pairs="contiguous"),
        "objective": OBJECTIVES["unilm"],  # sections 2.3 and 2.4
        "model": Architecture(
            family="bert",
            max_position=512,  # section 2.4
            segment_types=6,  # two of the bidirectional and of the sequence-to-sequence LM
            dropout=0.1,  # section 2.4
            attention_dropout=0.1,
            initializer_range=0.02,
        ),
        "size": SIZES["large"],  # section 2.4
        "optimizer": Optimizer(
            learning_rate=3e-5,  # section 2.4, as the three below
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.01,
            eps=1e-6,  # as BERT, as the two below
            max_grad_norm=1.0,
            bias_correction=False,
        ),
        "schedule": Schedule(warmup_fraction=40_000 / 770_000, decay="linear"),  # section 2.4
        "phases": (Phase(fraction=1.0, sequence_length=512),),  # section 2.4, as the two below
        "batch_size": 330,
        "budget": Budget(steps=770_000),
    }
)
