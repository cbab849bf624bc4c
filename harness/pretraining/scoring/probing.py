"""Probes put to a pretrained model: items to scores of sentences, and those to accuracies."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerFast

from harness.models import FAMILIES
from harness.models.backbone import read_metadata
from harness.models.build import load
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.scoring.likelihood import log_likelihoods
from harness.pretraining.scoring.requests import Text, default_objective, unsupported_request
from harness.tasks.probes import PROBES
from harness.tasks.probes.accuracy import (
    OVERALL,
    accuracy_by_category,
    cloze_values,
    minimal_pair_values,
)
from harness.tasks.probes.items import Item, MinimalPair, load_items


@dataclass(frozen=True)
class ProbeResult:
    """How a model did on a probe."""

    accuracies: dict[str, float | None]
    """By category, and `overall`, from 0 to 1; null where the model cannot be asked."""
    items: pd.DataFrame
    """A row per item: index, category, answer (place of the right score), scores (nats; of a
    minimal pair, first the acceptable sentence); without rows where the model cannot be asked."""
    unsupported_reason: str = ""
    """Why the model cannot be asked; empty if it can."""


def probe(model: Path, tokenizer: Path, name: str) -> ProbeResult:
    """Puts the probe `name` of `PROBES` to a saved model, without training it further.

    Raises:
        ValueError: the data of the probe are missing, or not what it declares.
    """
    vocabulary = Vocabulary.load(tokenizer)
    if reason := _unsupported(model, vocabulary):
        names = (*PROBES[name].categories, OVERALL)
        return ProbeResult(dict.fromkeys(names), _frame([], []), reason)
    items = load_items(PROBES[name])
    splitter = PreTrainedTokenizerFast.from_pretrained(tokenizer)
    texts = [text for item in items for text in _texts(item, splitter)]
    flat = log_likelihoods(load(model), vocabulary, texts)
    ends = np.cumsum([_num_sentences(item) for item in items])
    scores = np.split(flat, ends[:-1])
    values = _values(items, scores)
    accuracies = accuracy_by_category([item.category for item in items], values)
    return ProbeResult(dict(accuracies), _frame(items, scores))


def _unsupported(model: Path, vocabulary: Vocabulary) -> str:
    note = read_metadata(model)
    if FAMILIES[note["family"]].kind == "baseline":
        return "it has no network"
    if note.get("objective"):
        return unsupported_request(Objective.model_validate(note["objective"]))
    return unsupported_request(default_objective(note["representation"], vocabulary))


def _num_sentences(item: Item) -> int:
    return 2 if isinstance(item, MinimalPair) else len(item.candidates)


def _texts(item: Item, splitter: PreTrainedTokenizerFast) -> list[Text]:
    """The sentences of an item; of cloze, with the place of the candidate."""
    if isinstance(item, MinimalPair):
        return [_text(splitter, sentence) for sentence in (item.good, item.bad)]
    begin = len(item.before)
    return [
        _text(splitter, sentence, (begin, begin + len(candidate)))
        for sentence, candidate in zip(item.sentences, item.candidates, strict=True)
    ]


def _text(
    splitter: PreTrainedTokenizerFast, sentence: str, span: tuple[int, int] | None = None
) -> Text:
    """Tokens of a sentence; the gap has those that share a character with `span`."""
    encoded = splitter(sentence, add_special_tokens=False, return_offsets_mapping=True)
    tokens = tuple(encoded["input_ids"])
    if span is None:
        return Text(tokens)
    begin, end = span
    inside = [i for i, (a, b) in enumerate(encoded["offset_mapping"]) if a < end and b > begin]
    return Text(tokens, (inside[0], inside[-1] + 1))


def _values(items: Sequence[Item], scores: Sequence[np.ndarray]) -> np.ndarray:
    """[num_items] from 0 to 1; all items of a probe are of one kind."""
    if isinstance(items[0], MinimalPair):
        good, bad = np.array(scores).T
        return minimal_pair_values(good, bad)
    most = max(map(len, scores))
    padded = [np.pad(s, (0, most - len(s)), constant_values=-np.inf) for s in scores]
    return cloze_values(np.array(padded), np.array(_answers(items)))


def _answers(items: Sequence[Item]) -> list[int]:
    return [0 if isinstance(item, MinimalPair) else item.answer for item in items]


def _frame(items: Sequence[Item], scores: Sequence[np.ndarray]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "index": np.arange(len(items)),
            "category": [item.category for item in items],
            "answer": _answers(items),
            "scores": [list(map(float, s)) for s in scores],
        }
    )
