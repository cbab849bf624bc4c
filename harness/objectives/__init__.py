"""AXIS: what the model learns to predict. Objective = transform x representation x output."""

from typing import Literal

from pydantic import Field, model_validator

from harness.values import Value


class Objective(Value):
    """Masked language modelling with an optional sentence-pair loss (Devlin et al. 2019, 3.1)."""

    transform: Literal["token_masking"] = "token_masking"
    representation: Literal["bidirectional"] = "bidirectional"
    output: Literal["masked_token"] = "masked_token"
    mask_rate: float = Field(default=0.15, gt=0, lt=1)
    """Share of the tokens of a sequence chosen for prediction."""
    mask_token_rate: float = Field(default=0.8, ge=0, le=1)
    """Share of the chosen tokens that become the mask token."""
    random_token_rate: float = Field(default=0.1, ge=0, le=1)
    """Share of the chosen tokens that become a random token; the rest stay as they are."""
    whole_word: bool = False
    """Choose whole words instead of single word pieces."""
    masking: Literal["static", "dynamic"] = "dynamic"
    """`static`: masks drawn once per duplicate of the data (BERT); `dynamic`: anew at each step."""
    duplicates: int = Field(default=10, ge=1)
    """Different drawings of the data: of masks where masking is static, and of random pairs."""
    pair: Literal["nsp", "sop", "none"] = "none"
    """Sentence-pair loss beside the masked tokens: next sentence (BERT), order (ALBERT), none."""

    @model_validator(mode="after")
    def _rates(self) -> "Objective":
        total = self.mask_token_rate + self.random_token_rate
        if total > 1 + 1e-9:
            raise ValueError(
                f"mask_token_rate + random_token_rate must be at most 1, but they sum to {total:g}"
            )
        return self


OBJECTIVES: dict[str, Objective] = {
    "mlm": Objective(),
    "whole_word_mlm": Objective(whole_word=True),
    "mlm_nsp": Objective(pair="nsp"),  # Devlin et al. 2019, section 3.1
    "mlm_sop": Objective(pair="sop"),  # Lan et al. 2020, section 3.1
}
