"""T5 v1.1: released_checkpoints.md of google-research/text-to-text-transfer-transformer. T5 with
exactly these changes."""

from harness.models import Size
from harness.pretraining.recipes.t5 import t5

t5_v1_1 = t5.model_copy(
    update={
        "recipe": "t5_v1_1",
        "model": t5.model.model_copy(
            update={
                "gated_feed_forward": True,  # GEGLU (Shazeer 2020)
                "tie_embeddings": False,
                "dropout": 0.0,  # in pretraining
            }
        ),
        # t5.1.1.base: three matrices of 2048 where T5 has two of 3072
        "size": Size(num_layers=12, hidden_size=768, num_heads=12, intermediate_size=2048),
    }
)
