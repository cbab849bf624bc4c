"""ELECTRA: Clark et al. 2020, ICLR; where the paper is silent, google-research/electra. The base
model, and the same network trained as a masked LM."""

from harness.data.corpora.packing import Packing
from harness.models import MODELS, SIZES
from harness.pretraining.budget import Budget, Phase
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import MaskedToken, ReplacedToken
from harness.pretraining.objectives.transforms.masking import TokenMasking
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.bert import bert
from harness.pretraining.schedule import Schedule

electra = bert.model_copy(
    update={
        "recipe": "electra",
        # build_pretraining_dataset.py: the text of one document in a row. There it is cut in two
        # segments, 10 % apart, and 5 % of the sequences are shorter; here it is one segment.
        "packing": Packing(format="doc_sentences"),
        "objective": Objective(
            transform=TokenMasking(
                mask_rate=0.15,  # table 6, base
                mask_token_rate=0.85,  # pretrain_helpers.py `mask`, as the two below
                random_token_rate=0.0,
                with_replacement=True,
            ),
            masking="dynamic",  # pretrain_helpers.py
            output=ReplacedToken(
                generator_width=1 / 3,  # table 6, base
                generator_depth=1.0,  # section 3.2
                discriminator_weight=50.0,  # appendix A
                embedding_sharing="shared",  # section 3.2
            ),
        ),
        "model": MODELS["electra"],  # embeddings as wide as the states: table 6, base
        "size": SIZES["base"],  # table 6
        "optimizer": Optimizer(
            learning_rate=2e-4,  # table 6, base, as the four below
            beta1=0.9,
            beta2=0.999,
            eps=1e-6,
            weight_decay=0.01,
            max_grad_norm=1.0,  # model/optimization.py, as the next
            bias_correction=False,
        ),
        "schedule": Schedule(warmup_fraction=10_000 / 766_000, decay="linear"),  # table 6
        "phases": (Phase(fraction=1.0, sequence_length=512),),  # configure_pretraining.py
        "batch_size": 256,  # table 6, base
        "budget": Budget(steps=766_000),  # table 6, base
    }
)

electra_mlm = electra.model_copy(
    update={
        "recipe": "electra_mlm",
        # Section 3.4, as its BERT; equal compute is for a budget in FLOPs to say.
        "objective": electra.objective.model_copy(update={"output": MaskedToken()}),
    }
)
