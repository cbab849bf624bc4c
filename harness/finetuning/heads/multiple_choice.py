"""Multiple choice: a score for each pair of context and choice.

Shapes: B items, R rows (all choices of all items), K largest number of choices.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.divergences import symmetric_divergences
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded
from harness.tasks.examples import Examples


class MultipleChoice(TaskHead):
    """Cross-entropy over the scores of an item's choices (Devlin et al. 2019, section 4.4); the
    number of choices may differ between items."""

    num_outputs = 1

    def encode(self, examples: Examples) -> Encoded:
        """A row is the context with one choice; two context texts are joined by a space."""
        assert examples.choices is not None, f"{self.task.name} has no choices"
        pairs = [
            (context, choice)
            for context, choices in zip(contexts(examples), examples.choices, strict=True)
            for choice in choices
        ]
        first_rows = np.cumsum([0, *map(len, examples.choices)])
        return self.tokenized(pairs, examples.labels, first_rows)

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        """`labels` and `num_choices`, both [B]."""
        counts = torch.from_numpy(data.rows_per_item[items])
        return super().labels(data, items, batch) | {"num_choices": counts}

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy over choices of scores [R, 1]."""
        return F.cross_entropy(side_by_side(outputs, batch["num_choices"]), batch["labels"])

    def divergences(self, moved: Tensor, clean: Tensor, batch: Batch) -> Tensor:
        """[B] symmetric divergences over choices of scores [R, 1]."""
        num_choices = batch["num_choices"]
        rows = (side_by_side(scores, num_choices) for scores in (moved, clean))
        return symmetric_divergences(*rows)

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] indices of the best choices."""
        return list(side_by_side(outputs, batch["num_choices"]).argmax(1).tolist())


def contexts(examples: Examples) -> list[str]:
    """[num_examples] contexts, two texts joined by a space."""
    return [" ".join(filter(None, texts)) for texts in examples.texts]


def side_by_side(outputs: Tensor, num_choices: Tensor) -> Tensor:
    """[R, 1] scores to [B, K], padded with minus infinity."""
    places = torch.arange(int(num_choices.max()), device=outputs.device)
    there = places < num_choices.unsqueeze(1)
    scores = outputs.new_full(there.shape, -torch.inf)
    scores[there] = outputs.squeeze(-1)
    return scores
