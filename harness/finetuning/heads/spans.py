"""Extraction: the span of a context that answers a question, or none.

Shapes: B windows, T tokens, H hidden size, N best starts or ends.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.finetuning.adaptation import ADAPTATIONS, Adaptation
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.finetuning.pooling import pool
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models.backbone import Backbone
from harness.tasks.examples import Answers, Examples
from harness.tasks.metrics.metric import column

MAX_QUESTION = 64
"""Tokens of a question (google-research/bert, run_squad.py, as the next two), at most half of the
input; the rest of it is cut."""
MAX_ANSWER = 30
"""Tokens of an answer."""
NUM_BEST = 20
"""Starts, and ends, that are paired."""
NULL = 0
"""Position of "no answer"."""


class Read(NamedTuple):
    """What a window says: scores of no answer and of its best span, and where that is."""

    null: float
    best: float
    start: int
    end: int


class Window(NamedTuple):
    """One input: question and a stretch of the context."""

    owner: int
    """Number of its example."""
    input_ids: list[int]
    token_type_ids: list[int]
    offsets: np.ndarray
    """[T, 2] first character in the context and the end of each token; -1 outside it."""


class SpanExtraction(TaskHead):
    """Cross-entropy of the first and of the last token of the answer, averaged (Devlin et al. 2019,
    section 4.2).

    A long context is read in windows that share `Protocol.doc_stride` tokens, at most half of
    their context. A window without the whole answer has none, which is position 0; of an example,
    the best span of all windows is the answer. It is "" where no answer scores higher, in models
    that were trained on questions without one. The paper (section 4.3) tunes by how much on the
    public dev set, which is optimistic; here the threshold is 0.

    Under a causal reading the state of a token has not seen what follows it: that is what such a
    model is.
    """

    per_token = True

    @property
    def num_outputs(self) -> int:
        return 2

    def encode(self, examples: Examples) -> Encoded:
        """Places: `Window.offsets`, flat; targets: `_target`."""
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
            places=Ragged.of([window.offsets.ravel().tolist() for window in windows]),
        )

    def _questions(self, questions: Sequence[str]) -> tuple[list[str], float]:
        """Their first MAX_QUESTION tokens, and the share of those that lost some."""
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
        """Examples whose questions leave room for the same overlap are tokenised together."""
        length = self.protocol.max_sequence_length
        used = np.array([len(ids) for ids in self._plain(questions)["input_ids"]])
        room = length - self.tokenizer.num_special_tokens_to_add(pair=True) - used
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
        return SpanFinder(backbone, self.num_outputs, self.protocol, adaptation)

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        """`labels` [B, 2]; `unanswerable` [B]; `context` [B, T]: whether a token is of it."""
        assert isinstance(data.targets, np.ndarray) and data.places is not None
        context = torch.zeros_like(batch["input_ids"], dtype=torch.bool)
        for row, item in enumerate(items):
            offsets = data.places[item].reshape(-1, 2)
            context[row, : len(offsets)] = torch.from_numpy(offsets[:, 1] >= 0)
        targets = torch.from_numpy(data.targets[items])
        return {"labels": targets[:, :2], "unanswerable": targets[:, 2] == 1, "context": context}

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Over the real tokens, so that padding changes nothing."""
        padding = batch["attention_mask"].unsqueeze(-1) == 0
        return F.cross_entropy(outputs.masked_fill(padding, -torch.inf), batch["labels"])

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] `Read`: of the best starts and ends in the context, the best pair that is a span."""
        null = outputs[:, NULL].sum(-1)
        scores = outputs.masked_fill(~batch["context"].unsqueeze(-1), -torch.inf)
        # Stable: of static vectors, all places of a word have one score, and the first is taken.
        values, places = scores.sort(dim=1, descending=True, stable=True)
        values, places = values[:, :NUM_BEST], places[:, :NUM_BEST]  # [B, N, 2]
        sums = values[:, :, None, 0] + values[:, None, :, 1]  # [B, N, N]
        lengths = places[:, None, :, 1] - places[:, :, None, 0] + 1
        sums = sums.masked_fill((lengths < 1) | (lengths > MAX_ANSWER), -torch.inf)
        best, pair = sums.flatten(1).max(1)
        starts = places[..., 0].gather(1, pair[:, None] // sums.shape[2])[:, 0]
        ends = places[..., 1].gather(1, pair[:, None] % sums.shape[2])[:, 0]
        columns = (null.tolist(), best.tolist(), starts.tolist(), ends.tolist())
        return [Read(*row) for row in zip(*columns, strict=True)]

    def predict_batch(self, model: TaskModel, batch: Batch) -> Sequence[Any]:
        """A model that knows of no question without an answer always gives one."""
        spans = super().predict_batch(model, batch)
        if isinstance(model, SpanFinder) and model.may_abstain:
            return spans
        return [span._replace(null=-np.inf) for span in spans]

    def predictions(self, decoded: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        """[num_examples] texts. That no window has the answer is said by the one that says it least
        (run_squad.py)."""
        assert data.owners is not None and data.places is not None
        best: dict[int, tuple[float, str]] = {}
        null: dict[int, float] = {}
        for item, owner in enumerate(data.owners.tolist()):
            window = decoded[item]
            null[owner] = min(window.null, null.get(owner, np.inf))
            if window.best > best.get(owner, (-np.inf, ""))[0]:
                offsets = data.places[item].reshape(-1, 2)
                start, end = offsets[window.start, 0], offsets[window.end, 1]
                best[owner] = window.best, examples.texts[owner][1][start:end].strip()
        found = [best.get(owner, (-np.inf, "")) for owner in range(len(examples))]
        texts = [text if score >= null[owner] else "" for owner, (score, text) in enumerate(found)]
        return column(texts).astype(object)


class SpanFinder(Classifier):
    """Scores of each token as the start and as the end of the answer.

    At position 0 the head reads the pooled vector: of [CLS] its own state (Devlin et al. 2019,
    section 4.3); where the first token has seen nothing, one that has seen everything.
    """

    may_abstain: Tensor

    def __init__(
        self,
        backbone: Backbone,
        num_outputs: int,
        protocol: Protocol,
        adaptation: Adaptation = ADAPTATIONS["full"],
    ) -> None:
        super().__init__(backbone, num_outputs, protocol, adaptation, per_token=True)
        # Kept with the weights: known from training, asked when answers are given.
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
    """First and last token of the first right answer, both 0 where the window lacks any of it; and
    whether the question has no answer at all."""
    if not answers.texts:
        return NULL, NULL, 1
    text, start = answers.texts[0], answers.starts[0]
    first = start + len(text) - len(text.lstrip())  # no token begins or ends with white space
    end = start + len(text.rstrip())
    starts, ends = window.offsets.T
    there = np.flatnonzero(ends >= 0)
    if not len(there) or starts[there[0]] > first or ends[there[-1]] < end:
        return NULL, NULL, 0
    tokens = np.flatnonzero((starts < end) & (ends > first))
    return (int(tokens[0]), int(tokens[-1]), 0) if len(tokens) else (NULL, NULL, 0)
