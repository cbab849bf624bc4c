"""What expectations may be about beside scores: quantities of which less is better."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from harness.core.names import shortened

AVERAGE = "average"
POINTS = "points"
"""Unit of scores x 100."""
GAP = " - "
"""Between two outcomes of which one is subtracted from the other."""
AMOUNTS = ("tokens", "labels", "epochs")
"""What may be counted until a score reaches a level; how the outcomes of `reached_level` begin."""
RANK_AGREEMENT = "rank agreement of "
"""How the outcomes of `ranked_by` begin."""
_LEVEL = re.compile(
    rf"(?P<amount>{'|'.join(AMOUNTS)}) to (?P<level>-?[0-9]+(?:\.[0-9]+)?) on (?P<score>\S.*)"
)


@dataclass(frozen=True)
class Quantity:
    """An outcome of which less is better."""

    label: str
    """Its name in the output."""
    unit: str
    is_counted: bool = False
    """Whether it is the same in every run, and so judged without an interval."""
    diagnostic: str = ""
    """The diagnostic of fine-tuning that measures it; empty if it needs none."""


Loss = Literal["loss", "bits_per_byte"]
LOSSES: tuple[Loss, ...] = ("loss", "bits_per_byte")
"""Quantities that only networks with the same targets have in common."""
QUANTITIES: Mapping[str, Quantity] = {
    "loss": Quantity("held-out loss", "nats per predicted token"),
    "bits_per_byte": Quantity("held-out bits per byte", "bits per byte"),
    "generator_accuracy": Quantity("held-out accuracy of the generator", "points"),
    "flops": Quantity("FLOPs of pretraining", "FLOPs", is_counted=True),
    "parameters": Quantity("parameters", "parameters", is_counted=True),
    "trained_parameters": Quantity("trained parameters", "parameters", is_counted=True),
    "stored_bytes": Quantity("bytes stored per task", "bytes", is_counted=True),
    "pretraining_seconds": Quantity("seconds of pretraining", "seconds"),
    "finetuning_seconds": Quantity("seconds of fine-tuning", "seconds"),
    "peak_memory_bytes": Quantity("peak memory of fine-tuning", "bytes"),
    "finetuning_spread": Quantity("standard deviation between fine-tuning seeds", "points"),
    "weight_change": Quantity(
        "relative change of the weights", "of their norm", diagnostic="weight_change"
    ),
    "weight_change/top_layer": Quantity(
        "relative change of the top layer", "of its norm", diagnostic="weight_change"
    ),
    "weight_change/bottom_layer": Quantity(
        "relative change of the bottom layer", "of its norm", diagnostic="weight_change"
    ),
    "gradient_imbalance": Quantity(
        "imbalance of the first gradients",
        "orders of magnitude",
        diagnostic="first_gradient_norms",
    ),
    "overfitting": Quantity("training minus reported score", "points", diagnostic="train_scores"),
    "changed_words": Quantity(
        "attribution to changed words above chance", "points", diagnostic="changed_words"
    ),
    "forgetting": Quantity("average forgetting", "points"),
}
"""Outcomes of which less is better. Their values: `harness.analysis.frames.quantities`."""


@dataclass(frozen=True)
class ReachedLevel:
    """A level that a score reaches in the course of pretraining, or with more labels or epochs of
    fine-tuning."""

    level: float
    """A score x 100."""
    score: str
    """`average`, a column of the suite, or, in pretraining, a probe or one of its categories."""
    amount: str = "tokens"
    """One of AMOUNTS."""


def reached_level(outcome: str) -> ReachedLevel | None:
    """The level of an outcome such as `tokens to 60 on CoLA` or `labels to 60 on average`; null of
    any other.

    Raises:
        ValueError: the outcome begins like one, but has another form.
    """
    amount, to, _ = outcome.partition(" to ")
    if amount not in AMOUNTS or not to:
        return None
    if not (match := _LEVEL.fullmatch(outcome)):
        raise ValueError(
            f"{amount} until a score reaches a level must have the form '{amount} to 60 on CoLA', "
            f"but are {shortened(outcome)}"
        )
    return ReachedLevel(float(match["level"]), match["score"], amount)


def ranked_by(outcome: str) -> tuple[str, str] | None:
    """The outcomes of one such as `rank agreement of average and loss`; null of any other.

    Raises:
        ValueError: the outcome begins like one, but has another form.
    """
    if not outcome.startswith(RANK_AGREEMENT):
        return None
    parts = outcome.removeprefix(RANK_AGREEMENT).split(" and ")
    if len(parts) != 2 or not all(parts) or parts[0] == parts[1]:
        raise ValueError(
            "a rank agreement must be that of two outcomes, such as 'rank agreement of average and "
            f"loss', but is {shortened(outcome)}"
        )
    return parts[0], parts[1]


def quantities_of(outcome: str) -> tuple[Quantity, ...]:
    """The quantity that an outcome is about, or both of a gap; empty of scores."""
    if reached := reached_level(outcome):
        return (Quantity(outcome, reached.amount),)
    parts = outcome.split(GAP)
    return tuple(QUANTITIES[one] for one in parts) if set(parts) <= QUANTITIES.keys() else ()
