"""GPT-3 175B: Brown et al. 2020, arXiv 2005.14165. GPT-2 with exactly these changes, and attention
to all earlier tokens in every layer, where every second one of GPT-3's has a local band (section
2.1); `pretrain.model: {family: gpt_neo}` gives these layers."""

from harness.models import SIZES
from harness.pretraining.budget import Phase
from harness.pretraining.recipes.gpt2 import gpt2

gpt3 = gpt2.model_copy(
    update={
        "recipe": "gpt3",
        "model": gpt2.model.model_copy(update={"max_position": 2048}),  # section 2.1
        "size": SIZES["gpt3_175b"],  # table 2.1, as the rate and the batch of 3.2M tokens
        "optimizer": gpt2.optimizer.model_copy(update={"learning_rate": 0.6e-4}),
        "phases": (Phase(fraction=1.0, sequence_length=2048),),  # section 2.1
        "batch_size": 1600,
    }
)
