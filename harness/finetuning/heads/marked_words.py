"""Classification and regression by the states of a word in each text: `protocol.pooling: word`.

Shapes: B examples, N texts of an example, T tokens, H hidden size, W width of the states that are
pooled, C outputs.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from transformers import BatchEncoding

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.heads.classification import Classification, Regression
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.tasks.examples import Examples

WORDS = "words"
"""Name in a batch of the first token of each word and the one after its last, [B, N, 2]."""
FIRST_TOKEN = (0, 1)
"""What stands for a word that was truncated."""


class WordClassifier(Classifier):
    """A linear layer on the vector of a word, the mean of the states of its tokens."""

    def __init__(
        self, backbone: Backbone, num_outputs: int, protocol: Protocol, adaptation: Adaptation
    ) -> None:
        native = protocol.model_copy(update={"pooling": "native"})  # is not used
        super().__init__(backbone, num_outputs, native, adaptation)
        self.reads_tokens = True

    def _read(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[B, W], or [B, 4 W] of pairs."""
        if self.recurrent:
            states = self._recurrent_states(self.recurrent, batch, states)
        (state,) = states
        vectors = word_vectors(state, batch[WORDS])
        if not self.recurrent:
            vectors = self.standardise(vectors.flatten(0, 1)).view_as(vectors)
        return self.compared(*vectors.unbind(1))

    def compared(self, *vectors: Tensor) -> Tensor:
        """The vector [B, W] of the only word."""
        (vector,) = vectors
        return vector


class WordPairClassifier(WordClassifier):
    """A linear layer on the features (u, v, |u - v|, u * v) of two words (Conneau et al. 2017,
    section 3.2, of sentences), as one on u and v alone cannot compare them."""

    vectors_per_input = 4

    def compared(self, *vectors: Tensor) -> Tensor:
        """[B, 4 W], from the vectors [B, W] of both words."""
        u, v = vectors
        return torch.cat((u, v, (u - v).abs(), u * v), -1)


class MarkedWords(Classification):
    """Cross-entropy over C classes, from the marked word in each text."""

    def encode(self, examples: Examples) -> Encoded:
        """One row per example; `positions` are the first token of each word and the one after its
        last, [2 N].

        Raises:
            ValueError: the examples have no marked words.
        """
        if not examples.spans:
            raise ValueError(
                f"protocol.pooling: word needs the places of words, but examples of "
                f"{self.task.name} are given without"
            )
        out = self.in_template(examples.texts)
        places = [_places(out, row, spans) for row, spans in enumerate(examples.spans)]
        return replace(self.encoded(out, examples.labels), positions=Ragged.of(places))

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        """`labels` [B] and `words` [B, N, 2]."""
        assert data.positions is not None
        places = np.stack([data.positions[item] for item in items]).astype(np.int64)
        words = torch.from_numpy(places).unflatten(1, (-1, 2))
        return super().labels(data, items, batch) | {WORDS: words}

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The backbone with a layer on the vectors of the words."""
        made = WordPairClassifier if len(self.task.text_fields) == 2 else WordClassifier
        return made(backbone, self.num_outputs, self.protocol, adaptation)


class MarkedWordValues(MarkedWords, Regression):
    """Mean squared error of one value, from the marked word in each text."""


MARKED: dict[str, type[TaskHead]] = {
    "classification": MarkedWords,
    "regression": MarkedWordValues,
}
"""Kind of task to its head with `protocol.pooling: word`."""


def word_vectors(states: Tensor, words: Tensor) -> Tensor:
    """[B, N, H] means of the states [B, T, H] of the tokens of words [B, N, 2]."""
    tokens = torch.arange(states.shape[1], device=states.device)
    inside = (words[..., :1] <= tokens) & (tokens < words[..., 1:])
    weights = inside.to(states.dtype) / inside.sum(-1, keepdim=True)
    return weights @ states


def _places(out: BatchEncoding, row: int, spans: Sequence[tuple[int, int]]) -> list[int]:
    """The first token of the word in each text of a row, and the one after its last."""
    places: list[int] = []
    for text, (start, end) in enumerate(spans):
        first = out.char_to_token(row, start, sequence_index=text)
        last = out.char_to_token(row, end - 1, sequence_index=text)
        places += FIRST_TOKEN if first is None or last is None else (first, last + 1)
    return places
