"""Extractive question answering: the answer span of a context, or no answer.

Shapes: B windows, T tokens, H hidden size, N best starts or ends.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.divergences import symmetric_divergences
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.models.pooling import pool
from harness.tasks.examples import Answers, Examples, column

MAX_QUESTION = 64
"""Most tokens of a question (google-research/bert, run_squad.py, as the next two), and at most half
of the input; longer questions are truncated."""
MAX_ANSWER = 30
"""Most tokens of an answer."""
NUM_BEST = 20
"""Number of best starts, and of best ends, that are combined."""
NULL = 0
"""Position of "no answer"."""


class Span(NamedTuple):
    """Prediction of a window: scores of "no answer" and of the best span, and its tokens."""

    null: float
    best: float
    start: int
    end: int


class Window(NamedTuple):
    """One input: the question and a window of the context."""

    owner: int
    """Index of its example."""
    input_ids: list[int]
    token_type_ids: list[int]
    offsets: np.ndarray
    """[T, 2] start and end character of each token in the context; -1 outside it."""


class SpanExtraction(TaskHead):
    """Mean cross-entropy of the first and the last token of the answer (Devlin et al. 2019, section
    4.2).

    Long contexts are split into windows that overlap by `Protocol.doc_stride` tokens, at most half
    of their context. A window without the complete answer has the target position 0 ("no answer").
    The prediction is the best span over all windows, or "" if "no answer" scores higher and the
    model was trained on unanswerable questions. The paper (section 4.3) tunes this threshold on the
    public dev set, which is optimistic; here it is 0.
    """

    per_token = True
    num_outputs = 2
    """Scores of a token as start and as end."""

    def encode(self, examples: Examples) -> Encoded:
        """`positions` are flattened `Window.offsets`, targets are those of `_target`.

        Raises:
            ValueError: inputs are so short that a question leaves no room for its context.
        """
        questions, cut = self._questions([texts[0] for texts in examples.texts])
        contexts = [texts[1] for texts in examples.texts]
        windows = sorted(self._windows(questions, contexts), key=lambda window: window.owner)
        targets = [_target(w, examples.labels[w.owner]) for w in windows]
        return Encoded(
            Ragged.of([window.input_ids for window in windows]),
            Ragged.of([window.token_type_ids for window in windows]),
            np.array(targets, dtype=np.int64),
            cut,
            owners=np.array([window.owner for window in windows]),
            positions=Ragged.of([window.offsets.ravel().tolist() for window in windows]),
        )

    def _questions(self, questions: Sequence[str]) -> tuple[list[str], float]:
        """The questions cut to MAX_QUESTION tokens, and the share of truncated ones."""
        limit = min(MAX_QUESTION, self.protocol.max_sequence_length // 2)
        out = self._plain(questions)
        ends = [offsets[:limit][-1][1] if offsets else 0 for offsets in out["offset_mapping"]]
        cut = np.mean([len(ids) > limit for ids in out["input_ids"]])
        return [text[:end] for text, end in zip(questions, ends, strict=True)], float(cut)

    def _plain(self, texts: Sequence[str]) -> Any:
        return self.tokenizer(
            list(texts),
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
        )

    def _windows(self, questions: Sequence[str], contexts: Sequence[str]) -> Iterator[Window]:
        """Windows of all examples; those with the same overlap are tokenized together."""
        length = self.protocol.max_sequence_length
        used = np.array([len(ids) for ids in self._plain(questions)["input_ids"]])
        room = length - self.tokenizer.num_special_tokens_to_add(pair=True) - used
        if room.min(initial=1) < 1:
            raise ValueError(
                f"protocol.max_sequence_length of {length} leaves no room for the text beside a "
                f"question of {self.task.name}; raise it"
            )
        strides = np.minimum(self.protocol.doc_stride, room // 2)
        for stride in np.unique(strides):
            rows = np.flatnonzero(strides == stride).tolist()
            out = self.tokenizer(
                [questions[row] for row in rows],
                [contexts[row] for row in rows],
                truncation="only_second",
                max_length=length,
                stride=int(stride),
                return_overflowing_tokens=True,
                return_offsets_mapping=True,
                return_token_type_ids=True,
            )
            for item, sample in enumerate(out["overflow_to_sample_mapping"]):
                yield _window(out, item, rows[sample])

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """A `SpanFinder`."""
        return SpanFinder(backbone, self.protocol, adaptation)

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        """`labels` [B, 2]; `unanswerable` [B]; `context` [B, T], whether a token belongs to it."""
        assert isinstance(data.targets, np.ndarray) and data.positions is not None
        context = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
        for row, item in enumerate(items):
            offsets = data.positions[item].reshape(-1, 2)
            context[row, : len(offsets)] = torch.from_numpy(offsets[:, 1] >= 0)
        targets = torch.from_numpy(data.targets[items])
        return {"labels": targets[:, :2], "unanswerable": targets[:, 2] == 1, "context": context}

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy of scores [B, T, 2] over the real tokens, without padding."""
        padding = batch["attention_mask"].unsqueeze(-1) == 0
        return F.cross_entropy(outputs.masked_fill(padding, -torch.inf), batch["labels"])

    def divergences(self, moved: Tensor, clean: Tensor, batch: Batch) -> Tensor:
        """[2 B] symmetric divergences of start and end over the real tokens, of scores
        [B, T, 2]."""
        padding = batch["attention_mask"].unsqueeze(-1) == 0
        of_sides = (
            scores.masked_fill(padding, -torch.inf).transpose(1, 2).flatten(0, 1)
            for scores in (moved, clean)
        )
        return symmetric_divergences(*of_sides)

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] `Span`: the best valid pair among the best starts and ends in the context."""
        null = outputs[:, NULL].sum(-1)
        scores = outputs.masked_fill(~batch["context"].unsqueeze(-1), -torch.inf)
        # Stable: with static embeddings all occurrences of a word tie, and the first one is taken.
        values, tokens = scores.sort(dim=1, descending=True, stable=True)
        values, tokens = values[:, :NUM_BEST], tokens[:, :NUM_BEST]  # [B, N, 2]
        sums = values[:, :, None, 0] + values[:, None, :, 1]  # [B, N, N]
        lengths = tokens[:, None, :, 1] - tokens[:, :, None, 0] + 1
        sums = sums.masked_fill((lengths < 1) | (lengths > MAX_ANSWER), -torch.inf)
        best, pair = sums.flatten(1).max(1)
        starts = tokens[..., 0].gather(1, pair[:, None] // sums.shape[2])[:, 0]
        ends = tokens[..., 1].gather(1, pair[:, None] % sums.shape[2])[:, 0]
        columns = (null.tolist(), best.tolist(), starts.tolist(), ends.tolist())
        return [Span(*row) for row in zip(*columns, strict=True)]

    def predict_batch(self, model: TaskModel, batch: Batch) -> Sequence[Any]:
        """[B] `Span`; a model trained without unanswerable questions always answers."""
        spans = super().predict_batch(model, batch)
        if getattr(model, "may_abstain", False):  # of a `SpanFinder`, or of several
            return spans
        return [span._replace(null=-np.inf) for span in spans]

    def predictions(self, decoded: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        """[num_examples] answer texts, "" for none. The score of "no answer" is the minimum over an
        example's windows (run_squad.py)."""
        assert data.owners is not None and data.positions is not None
        best: dict[int, tuple[float, str]] = {}
        null: dict[int, float] = {}
        for item, owner in enumerate(data.owners.tolist()):
            window = decoded[item]
            null[owner] = min(window.null, null.get(owner, np.inf))
            if window.best > best.get(owner, (-np.inf, ""))[0]:
                offsets = data.positions[item].reshape(-1, 2)
                start, end = offsets[window.start, 0], offsets[window.end, 1]
                best[owner] = window.best, examples.texts[owner][1][start:end].strip()
        found = [best.get(owner, (-np.inf, "")) for owner in range(len(examples))]
        texts = [text if score >= null[owner] else "" for owner, (score, text) in enumerate(found)]
        return column(texts).astype(object)


class SpanFinder(Classifier):
    """Scores of each token as the start and the end of the answer.

    At position 0 ("no answer") the output layer gets the pooled vector: the state of [CLS] (Devlin
    et al. 2019, section 4.3), or, where the first token attends only to itself, one that depends on
    all tokens.
    """

    may_abstain: Tensor

    def __init__(self, backbone: Backbone, protocol: Protocol, adaptation: Adaptation) -> None:
        super().__init__(backbone, SpanExtraction.num_outputs, protocol, adaptation, per_token=True)
        # Set in training and used in prediction, so it is saved with the weights.
        self.register_buffer("may_abstain", torch.tensor(False))

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        """[B, T, 2], from the states [B, T, H]."""
        if self.training:
            self.may_abstain |= batch["unanswerable"].any()
        (state,) = states
        whole = pool(state, batch["attention_mask"], self.pooling).to(state.dtype)
        return super().outputs(batch, [torch.cat((whole.unsqueeze(1), state[:, 1:]), 1)])


def _window(out: Any, item: int, owner: int) -> Window:
    offsets = np.array(out["offset_mapping"][item], dtype=np.int64)
    of_context = np.array([part == 1 for part in out.sequence_ids(item)])
    offsets = np.where(of_context[:, None], offsets, -1)
    return Window(owner, out["input_ids"][item], out["token_type_ids"][item], offsets)


def _target(window: Window, answers: Answers) -> tuple[int, int, int]:
    """First and last token of the first gold answer, both 0 if the window lacks part of it; and
    whether the question is unanswerable."""
    if not answers.texts:
        return NULL, NULL, 1
    text, start = answers.texts[0], answers.starts[0]
    first = start + len(text) - len(text.lstrip())  # tokens exclude surrounding white space
    end = start + len(text.rstrip())
    starts, ends = window.offsets.T
    inside = np.flatnonzero(ends >= 0)
    if not len(inside) or starts[inside[0]] > first or ends[inside[-1]] < end:
        return NULL, NULL, 0
    tokens = np.flatnonzero((starts < end) & (ends > first))
    return (int(tokens[0]), int(tokens[-1]), 0) if len(tokens) else (NULL, NULL, 0)
