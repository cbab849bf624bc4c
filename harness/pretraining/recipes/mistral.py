"""Mistral 7B: Jiang et al. 2023, arXiv 2310.06825, table 1. The training is not published, and here
Llama 2's."""

from harness.models import SIZES, Architecture
from harness.pretraining.budget import Phase
from harness.pretraining.recipes.llama2 import llama2

mistral = llama2.model_copy(
    update={
        "recipe": "mistral",
        "model": Architecture(
            family="mistral",
            max_position=8192,  # context_len
            dropout=0.0,
            attention_dropout=0.0,
            tie_embeddings=False,  # the released model
            num_kv_heads=8,
        ),
        "size": SIZES["mistral_7b"],
        "phases": (Phase(fraction=1.0, sequence_length=8192),),
        "batch_size": 512,  # as many tokens as Llama 2's
    }
)
