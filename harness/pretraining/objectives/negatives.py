"""Negative samples: tokens drawn beside each target (Mikolov et al. 2013b, section 2.2)."""

from functools import cached_property

import numpy as np

from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import SampledToken
from harness.pretraining.objectives.targets import Batch
from harness.pretraining.objectives.vocabulary import Vocabulary

TOKENS_AT_ONCE = 2**24
"""Tokens of a stream that are counted together: numpy copies them as int64."""


class NegativeSampling:
    """The tokens that are sampled beside the targets of a text."""

    def __init__(self, text: np.ndarray, vocabulary: Vocabulary) -> None:
        """
        Args:
            text: [num_tokens] all tokens, such as those of a stream on disk.
        """
        self.text, self.vocabulary = text, vocabulary

    def sample(self, batch: Batch, objective: Objective, rng: np.random.Generator) -> Batch:
        """The array `negatives` [M, k] of a batch with targets [M]; nothing for other outputs.

        They are independent draws from `noise`, so that a target may be among its own negatives, as
        in equation 4; word2vec's code leaves such draws out.
        """
        output = objective.output
        if not isinstance(output, SampledToken):
            return {}
        shape = (len(batch["targets"]), output.negatives)
        return {"negatives": rng.choice(self.vocabulary.size, shape, p=self.noise(output.power))}

    def noise(self, power: float) -> np.ndarray:
        """[V] probability of each token: its count in the text to a power, normalised; 0 of special
        tokens and of those that the text lacks.

        Raises:
            ValueError: the text has no token to sample.
        """
        counts = self._counts
        weights = np.where((counts > 0) & ~self.vocabulary.special, counts**power, 0.0)
        if not weights.any():
            raise ValueError(
                "the output sampled_token needs text with words of the vocabulary, but all tokens "
                "of the training or held-out text are unknown words; raise tokenizer.vocab_size or "
                "give more text"
            )
        shares: np.ndarray = weights / weights.sum()
        return shares

    @cached_property
    def _counts(self) -> np.ndarray:
        """[V] occurrences of each token in the text, as floats."""
        counts, size = np.zeros(self.vocabulary.size), self.vocabulary.size
        for first in range(0, len(self.text), TOKENS_AT_ONCE):
            some = self.text[first : first + TOKENS_AT_ONCE]
            counts += np.bincount(some, minlength=size)
        return counts
