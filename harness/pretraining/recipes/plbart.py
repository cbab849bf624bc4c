"""PLBART: Ahmad et al. 2021, NAACL; numbers of its authors' command (wasiahmad/PLBART,
pretrain/absolute.sh) if nothing else is said. BART with exactly these changes."""

from harness.data.tokenizers import Tokenizer
from harness.models import SIZES
from harness.pretraining.budget import Budget
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import WholeText
from harness.pretraining.objectives.transforms.denoising import Denoising
from harness.pretraining.recipes.bart import bart
from harness.pretraining.schedule import Schedule

plbart = bart.model_copy(
    update={
        "recipe": "plbart",
        # Their sentencepiece/train.py: BPE, 50,000 pieces of Java, Python and English.
        "tokenizer": Tokenizer(algorithm="sentencepiece_bpe", vocab_size=50_000, lowercase=False),
        # The paper names masking, deletion and infilling; the command infills alone.
        "objective": Objective(
            transform=Denoising(infill_rate=0.3, poisson_lambda=3.5),
            representation="encoder_decoder",
            output=WholeText(),
        ),
        # BART base (section 2.2), without the norm above each half that the paper adds.
        "size": SIZES["half_base"],
        "optimizer": bart.optimizer.model_copy(update={"learning_rate": 3e-4}),
        "schedule": Schedule(warmup_fraction=2_000 / 100_000),
        # 2048 tokens x 60 x 8 devices; the paper has 2048 instances.
        "batch_size": 2048,
        "budget": Budget(steps=100_000),
    }
)
