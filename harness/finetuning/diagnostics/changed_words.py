"""Whether a classifier of pairs looks at the words in which the two texts differ.

Shapes: N examples, B rows, T tokens, E embedding size, C classes.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from harness.finetuning.changed_embeddings import changed_embeddings
from harness.finetuning.diagnostics import (
    CHANCE,
    CHANGED_WORDS,
    DIAGNOSTICS_COLUMNS,
    STRONGEST,
)
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, orders
from harness.finetuning.task_model import TaskModel, without_dropout
from harness.tasks.examples import Examples

STEPS = 20
"""Points on the path of the gradients: Sundararajan et al. 2017 find 20 to 300 to be enough."""
BATCH = 64
_WORD = re.compile(r"\w+")


class Places(NamedTuple):
    """Which tokens of a row [T] belong to the texts, and to a word that only one of them has."""

    of_text: np.ndarray
    changed: np.ndarray


def changed_words(model: TaskModel, head: TaskHead, examples: Examples) -> pd.DataFrame:
    """Two rows of DIAGNOSTICS_COLUMNS: the share of pairs in which the token with the largest
    attribution belongs to a word that the other text lacks (`strongest`), and the share of such
    tokens, which is the share expected by chance (`chance`).

    Attribution is the absolute value of the integrated gradient of the predicted class
    (`attributions`). Pairs in which no token or every token belongs to such a word are left out;
    NaN if none remains, or an attribution is not finite. Leaves the model in evaluation mode.
    """
    without_dropout(model)
    data = head.encode(examples)
    device = next(model.parameters()).device
    found: list[tuple[float, float] | None] = []
    for start in range(0, len(examples), BATCH):
        items = np.arange(start, min(start + BATCH, len(examples)))
        batch = {name: value.to(device) for name, value in head.collate(data, items).items()}
        found += _hits(model, head, batch, [examples.texts[item] for item in items])
    model.eval()
    shares = np.array([one for one in found if one is not None]).reshape(-1, 2)
    means = shares.mean(0).tolist() if len(shares) else [np.nan, np.nan]
    frame = pd.DataFrame({"name": [STRONGEST, CHANCE], "value": means, "step": None})
    frame = frame.assign(record=CHANGED_WORDS, layer="")[DIAGNOSTICS_COLUMNS]
    return frame.astype({"value": float, "step": "Int64"})


def _hits(
    model: TaskModel, head: TaskHead, batch: Batch, texts: Sequence[tuple[str, ...]]
) -> list[tuple[float, float] | None]:
    """`_hit` of each pair of a batch."""
    swapped = [(second, first) for first, second in texts]
    read = [_places(head, of_order) for of_order in [texts, swapped][: len(orders(batch))]]
    strengths = [one.abs().double().cpu().numpy() for one in attributions(model, batch)]
    return [
        _hit([places[number] for places in read], [own[number] for own in strengths])
        for number in range(len(texts))
    ]


def attributions(model: TaskModel, batch: Batch) -> list[Tensor]:
    """[B, T] attribution of each token, for each order of the texts: integrated gradients
    (Sundararajan et al. 2017) along the line from zero embeddings, of the logit of the predicted
    class minus the mean of all logits, which a constant added to all of them does not change. The
    integral is a sum over the middles of STEPS parts of the line.

    Positions and segments have embeddings of their own, which stay as they are: where there are
    none, a norm above the embeddings undoes their scale (`diagnostics.ATTRIBUTED`). Vectors of a
    soft prompt stay as well, and have no attribution.
    """
    embedded: list[Tensor] = []

    def keep(_: int, given: Tensor) -> Tensor:
        embedded.append(given.detach())
        return given

    with torch.no_grad(), changed_embeddings(model, keep):
        predicted = model(batch).argmax(1)
    sums = [torch.zeros_like(one) for one in embedded]
    for step in range(STEPS):
        points = [((step + 0.5) / STEPS * one).requires_grad_() for one in embedded]
        with changed_embeddings(model, partial(_at, points)):
            margin = _margins(model(batch), predicted).sum()
        gradients = torch.autograd.grad(margin, points)
        sums = [total + own / STEPS for total, own in zip(sums, gradients, strict=True)]
    widths = [given["input_ids"].shape[1] for given in orders(batch)]
    return [
        (total * one).sum(-1)[:, -width:]
        for total, one, width in zip(sums, embedded, widths, strict=True)
    ]


def _at(points: Sequence[Tensor], call: int, _: Tensor) -> Tensor:
    return points[call]


def _margins(logits: Tensor, classes: Tensor) -> Tensor:
    """[B] logit of each row's class minus the mean of its logits [B, C]."""
    return logits.gather(1, classes[:, None]).squeeze(1) - logits.mean(1)


def _hit(rows: Sequence[Places], strengths: Sequence[np.ndarray]) -> tuple[float, float] | None:
    """Whether the strongest token of a pair is of a changed word, and the share of such tokens; of
    several equally strong ones, the share that is. Null if no token or every token is.

    Args:
        rows: of each order of the texts.
        strengths: [T] of the tokens of each, with padding.
    """
    strength = np.concatenate(
        [own[: len(one.of_text)][one.of_text] for one, own in zip(rows, strengths, strict=True)]
    )
    changed = np.concatenate([one.changed[one.of_text] for one in rows])
    if not 0 < changed.sum() < len(changed):
        return None
    if not np.isfinite(strength).all():
        return np.nan, float(changed.mean())
    return float(changed[strength == strength.max()].mean()), float(changed.mean())


def _places(head: TaskHead, texts: Sequence[tuple[str, ...]]) -> list[Places]:
    """The tokens of each pair as `TaskHead.tokenized` makes them, without padding. Words are runs
    of letters and digits, compared without case, so that they are the same for any tokenizer."""
    out = head.tokenizer(
        *[list(column) for column in zip(*texts, strict=True)],
        truncation="longest_first",
        max_length=head.protocol.max_sequence_length,
        return_offsets_mapping=True,
    )
    return [
        _places_of(pair, out.sequence_ids(number), out["offset_mapping"][number])
        for number, pair in enumerate(texts)
    ]


def _places_of(
    pair: tuple[str, ...], sides: Sequence[int | None], spans: Sequence[tuple[int, int]]
) -> Places:
    """Args: text of each token, null for special tokens, and its characters in that text."""
    words = [[(one.span(), one[0].casefold()) for one in _WORD.finditer(text)] for text in pair]
    known = [{word for _, word in own} for own in words]
    own = [[span for span, word in words[side] if word not in known[1 - side]] for side in range(2)]
    changed = [
        side is not None and any(first < end and start < last for start, end in own[side])
        for side, (first, last) in zip(sides, spans, strict=True)
    ]
    return Places(np.array([side is not None for side in sides]), np.array(changed))
