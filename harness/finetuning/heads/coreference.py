"""Coreference: the mentions of a document, and for each its antecedent among those before it.

Shapes: B documents, R segments, T tokens, W words of all documents, M gold mentions, D hidden size.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.heads.classifier import Classifier, output_layer
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.heads.mention_scores import (
    NONE,
    Spans,
    WordScores,
    WordVectors,
    antecedent_losses,
    kept_spans,
    linked,
)
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.tasks.examples import Examples, Mention, column

WORD_FIELDS = 3
"""Sentence, first and last token of a word in `Encoded.positions`."""


class Coreference(TaskHead):
    """Marginal likelihood of the right antecedents of spans (Lee et al. 2017), which are scored by
    their first and last words (Kirstain et al. 2021).

    A document is read in segments of whole sentences, each up to the longest input and on its own,
    which Joshi et al. (2019, section 3) found better than overlapping ones. Sentences that are
    longer are divided, and no mention crosses the parts. Speakers and genres are not read.
    """

    per_token = True
    reads_documents = True

    def encode(self, examples: Examples) -> Encoded:
        """An item is a document, its rows the segments; `positions`: for each word of a row its
        sentence, first and last token; targets: entity, first and last word of each mention."""
        room = self.protocol.max_sequence_length - self.tokenizer.num_special_tokens_to_add()
        documents = [list(self._segments(sentences, room)) for sentences in examples.texts]
        segments = [segment for document in documents for segment in document]
        out = self.tokenizer(
            [[word for sentence in segment for word in sentence] for segment in segments],
            is_split_into_words=True,
            truncation=True,
            max_length=self.protocol.max_sequence_length,
            return_token_type_ids=True,
        )
        return Encoded(
            Ragged.of(out["input_ids"]),
            Ragged.of(out["token_type_ids"]),
            Ragged.of([[n for mention in label for n in mention] for label in examples.labels]),
            0.0,
            first_rows=np.cumsum([0, *map(len, documents)]),
            positions=Ragged.of(
                [_positions(segment, out.word_ids(row)) for row, segment in enumerate(segments)]
            ),
        )

    def _segments(self, sentences: Sequence[str], room: int) -> Iterator[list[list[str]]]:
        """Lists of sentences, or of parts of a long one, each a list of words, of at most `room`
        tokens together."""
        segment: list[list[str]] = []
        used = 0
        for words, lengths in self._parts(sentences, room):
            if segment and used + lengths > room:
                yield segment
                segment, used = [], 0
            segment.append(words)
            used += lengths
        yield segment

    def _parts(self, sentences: Sequence[str], room: int) -> Iterator[tuple[list[str], int]]:
        """The words of each sentence and their number of tokens; a sentence of more than `room`
        tokens in parts."""
        split = [sentence.split(" ") for sentence in sentences]
        out = self.tokenizer(split, is_split_into_words=True, add_special_tokens=False)
        for row, words in enumerate(split):
            owners = [word for word in out.word_ids(row) if word is not None]
            lengths = np.bincount(np.array(owners, dtype=np.int64), minlength=len(words))
            begin, used = 0, 0
            for word, length in enumerate(lengths.tolist()):
                if word > begin and used + length > room:
                    yield words[begin:word], used
                    begin, used = word, 0
                used += length
            yield words[begin:], used

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        """`words` [W, 5]: document, segment, sentence of the segment, first and last token;
        `mentions` [M, 4]: document, entity, and first and last word in the document."""
        assert data.positions is not None and isinstance(data.targets, Ragged)
        words, mentions = [], []
        owners = np.repeat(np.arange(len(items)), data.rows_per_item[items])
        for row, (owner, segment) in enumerate(zip(owners, data.rows(items), strict=True)):
            sentence, first, last = data.positions[segment].reshape(-1, WORD_FIELDS).T
            places = np.broadcast_arrays(owner, row, sentence, first, last)
            words.append(np.stack(places, 1).astype(np.int64))
        for document, item in enumerate(items):
            gold = data.targets[item].reshape(-1, len(Mention._fields)).astype(np.int64)
            mentions.append(np.insert(gold, 0, document, axis=1))
        return {
            "words": torch.from_numpy(np.concatenate(words)),
            "mentions": torch.from_numpy(np.concatenate(mentions)),
        }

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean over kept spans of the losses of their antecedents, from [W, 2 + 8 D]."""
        losses = []
        for document, spans in enumerate(_documents(outputs, batch)):
            gold = batch["mentions"][batch["mentions"][:, 0] == document, 1:]
            losses.append(antecedent_losses(spans, _entities(spans, gold)))
        return torch.cat(losses).mean()

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] lists of entity, first and last word of the mentions of a document."""
        return [linked(spans) for spans in _documents(outputs, batch)]

    def predictions(self, decoded: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        """[num_examples] tuples of mentions."""
        return column([tuple(Mention(*one) for one in mentions) for mentions in decoded])

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The backbone with the scores of words."""
        return CoreferenceModel(backbone, self.protocol, adaptation)


class CoreferenceModel(Classifier):
    """A backbone and the layers above it whose outputs are those of words."""

    def __init__(self, backbone: Backbone, protocol: Protocol, adaptation: Adaptation) -> None:
        super().__init__(backbone, 1, protocol, adaptation, per_token=True)
        linear = partial(output_layer, backbone)
        self.head: Any = WordScores(linear, self.head.in_features, protocol.head_dropout)

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[W, 2 + 8 D], from the states [R, T, D]."""
        state = self.dropout(self.hidden(self._read(batch, states)))
        _, row, _, first, last = batch["words"].unbind(1)
        scores: Tensor = self.head(state[row, first], state[row, last])
        return scores


def _positions(segment: Sequence[Sequence[str]], owners: Sequence[int | None]) -> list[int]:
    """Sentence, first and last token of each word of a segment, one after the other. Words without
    tokens (white space, control characters) are read at the first token of the row.

    Args:
        owners: word of each token.
    """
    places: dict[int, tuple[int, int]] = {}
    for token, word in enumerate(owners):
        if word is not None:
            places[word] = (places.get(word, (token, token))[0], token)
    sentence_of = [number for number, words in enumerate(segment) for _ in words]
    rows = [(number, *places.get(word, (0, 0))) for word, number in enumerate(sentence_of)]
    return [value for row in rows for value in row]


def _documents(outputs: Tensor, batch: Batch) -> Iterator[Spans]:
    """The kept spans of each document of a batch, from [W, 2 + 8 D]."""
    vectors, begin = WordVectors.of(outputs), 0
    for size in batch["words"][:, 0].bincount().tolist():
        places = batch["words"][begin : begin + size, 1:3]
        yield kept_spans(vectors.part(begin, begin + size), places)
        begin += size


def _entities(spans: Spans, gold: Tensor) -> Tensor:
    """[K] entity of each kept span, NONE of spans that are no mention.

    Args:
        gold: [M, 3] entity, first and last word of each mention of the document.
    """
    found = (spans.first.unsqueeze(1) == gold[:, 1]) & (spans.last.unsqueeze(1) == gold[:, 2])
    entities = torch.where(found, gold[:, 0], NONE)
    return F.pad(entities, (1, 0), value=NONE).amax(1)
