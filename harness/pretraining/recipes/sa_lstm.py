"""SA-LSTM: the sequence autoencoder of Dai and Le 2015, NeurIPS, which reads a text and writes it
again with the same weights (section 2); otherwise as LM-LSTM."""

from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.recipes.lm_lstm import lm_lstm

sa_lstm = lm_lstm.model_copy(
    update={"recipe": "sa_lstm", "objective": OBJECTIVES["sequence_autoencoder"]}
)
