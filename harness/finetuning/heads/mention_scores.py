"""Scores of mentions and antecedents from vectors of their first and last words: start-to-end
coreference (Kirstain et al. 2021, "Coreference resolution without span representations", ACL,
section 3).

Shapes: W words of all documents of a batch, D hidden size, N candidate spans and K kept spans of a
document.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

MAX_WORDS = 30
"""Longest mention (Lee et al. 2018; kentonl/e2e-coref, experiments.conf, `max_span_width`)."""
SPANS_PER_WORD = 0.4
"""Number of spans that are kept, by the number of words (there, `top_span_ratio`)."""
NONE = -1
"""Entity of spans that are no mention."""
Linear = Callable[[int, int], nn.Linear]
"""From the numbers of inputs and outputs to a new layer."""


class WordScores(nn.Module):
    """What the scores of spans read of each word: a function of its first token, as the start of a
    span, and of its last one, as the end.

    Four hidden layers (mention and antecedent, start and end), as in yuvalkirstain/s2e-coref,
    modeling.py, each of the width of the states; the bilinear forms of the scores are linear layers
    on one side.
    """

    def __init__(self, linear: Linear, size: int, dropout: float) -> None:
        super().__init__()

        def hidden() -> nn.Sequential:
            layer = linear(size, size)
            return nn.Sequential(layer, nn.GELU(), nn.LayerNorm(size), nn.Dropout(dropout))

        self.mention_start, self.mention_end = hidden(), hidden()
        self.antecedent_start, self.antecedent_end = hidden(), hidden()
        self.start_score, self.end_score = linear(size, 1), linear(size, 1)
        self.mention = linear(size, size)
        self.from_start, self.from_end = linear(size, 2 * size), linear(size, 2 * size)

    def forward(self, first: Tensor, last: Tensor) -> Tensor:
        """[W, 2 + 8 D] in the order of `WordVectors`.

        Args:
            first: [W, D] state of the first token of each word.
            last: [W, D] of its last one.
        """
        start, end = self.mention_start(first), self.mention_end(last)
        key_start, key_end = self.antecedent_start(first), self.antecedent_end(last)
        scores = (self.start_score(start), self.end_score(end))
        queries = (self.from_start(key_start), self.from_end(key_end))
        return torch.cat((*scores, start, self.mention(end), key_start, key_end, *queries), -1)


class WordVectors(NamedTuple):
    """The outputs of `WordScores`, by their use."""

    start_score: Tensor
    end_score: Tensor
    """[W, 1] of a span that starts or ends with the word."""
    start: Tensor
    end: Tensor
    """[W, D], whose product is added to these two."""
    key_start: Tensor
    key_end: Tensor
    """[W, D] of an antecedent."""
    query_start: Tensor
    query_end: Tensor
    """[W, 2 D] of a mention that looks for its antecedent."""

    @classmethod
    def of(cls, outputs: Tensor) -> "WordVectors":
        """From [W, 2 + 8 D]."""
        size = (outputs.shape[-1] - 2) // 8
        return cls(*outputs.split([1, 1, size, size, size, size, 2 * size, 2 * size], -1))

    def part(self, first: int, end: int) -> "WordVectors":
        """Those of the words from `first` to before `end`."""
        return WordVectors(*(vectors[first:end] for vectors in self))


class Spans(NamedTuple):
    """The kept spans of a document, in order."""

    first: Tensor
    last: Tensor
    """[K] words, from 0."""
    antecedents: Tensor
    """[K, 1 + K] score of no antecedent, which is 0, and of each span; minus infinity for spans
    that do not come before."""


def kept_spans(vectors: WordVectors, sentences: Tensor) -> Spans:
    """The spans of a document that are likely mentions, and the scores of their antecedents.

    Args:
        vectors: of its words, [W, ...].
        sentences: [W, 2] segment of each word, and its sentence there.
    """
    first, last, scores = _candidates(vectors, sentences)
    most = max(1, int(SPANS_PER_WORD * len(sentences)))
    best = scores.detach().topk(most).indices
    kept = best[(first[best] * len(sentences) + last[best]).argsort()]
    first, last, scores = first[kept], last[kept], scores[kept]
    keys = torch.cat((vectors.key_start[first], vectors.key_end[last]), -1)
    queries = vectors.query_start[first] + vectors.query_end[last]
    pairs = queries @ keys.T + scores.unsqueeze(1) + scores
    before = torch.ones_like(pairs, dtype=torch.bool).tril(-1)
    return Spans(first, last, F.pad(pairs.masked_fill(~before, -torch.inf), (1, 0)))


def _candidates(vectors: WordVectors, sentences: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """[N] first word, last word and mention score of all spans of at most MAX_WORDS words of one
    sentence."""
    num_words = len(sentences)
    words = torch.arange(num_words, device=sentences.device)
    firsts, lasts, scores = [], [], []
    for more in range(min(MAX_WORDS, num_words)):  # one length at a time: [W, L, D] is large
        ends = num_words - more
        score = (vectors.start[:ends] * vectors.end[more:]).sum(-1)
        score = score + vectors.start_score[:ends, 0] + vectors.end_score[more:, 0]
        inside = (sentences[:ends] == sentences[more:]).all(1)
        if not inside.any():
            break
        firsts.append(words[:ends][inside])
        lasts.append(words[more:][inside])
        scores.append(score[inside])
    return torch.cat(firsts), torch.cat(lasts), torch.cat(scores)


def antecedent_losses(spans: Spans, entities: Tensor) -> Tensor:
    """[K] negative log-likelihood of all right antecedents of each span: earlier mentions of its
    entity, or none without any (Lee et al. 2017).

    Args:
        entities: [K] entity of each span, NONE of spans that are no mention.
    """
    same = (entities.unsqueeze(1) == entities) & (entities != NONE).unsqueeze(1)
    right = F.pad(same.tril(-1), (1, 0))
    right[:, 0] = ~right.any(1)
    scores = spans.antecedents
    return scores.logsumexp(1) - scores.masked_fill(~right, -torch.inf).logsumexp(1)


def linked(spans: Spans) -> list[tuple[int, int, int]]:
    """Entity, first and last word of each mention: spans joined with their best antecedents; spans
    that are joined with no other are left out."""
    best = spans.antecedents.argmax(1).tolist()
    entity: list[int] = []
    for span, antecedent in enumerate(best):
        entity.append(entity[antecedent - 1] if antecedent else span)
    joined = {one for span, one in enumerate(entity) if one != span}
    words = zip(spans.first.tolist(), spans.last.tolist(), strict=True)
    return [(one, *span) for one, span in zip(entity, words, strict=True) if one in joined]
