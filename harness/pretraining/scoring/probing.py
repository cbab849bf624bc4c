"""Zero-shot probes of a pretrained model: sentence scores of items, and accuracies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from transformers import PreTrainedTokenizerFast

from harness.core.compute import DEFAULT_COMPUTE, Compute
from harness.data.tokenizers.loading import load_tokenizer
from harness.models import FAMILIES
from harness.models.build import load
from harness.models.checkpoints.files import read_metadata
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.scoring.likelihood import log_likelihoods, written
from harness.pretraining.scoring.requests import Text, default_objective, unsupported_request
from harness.tasks.probes import PROBES
from harness.tasks.probes.accuracy import accuracy_by_category, item_values
from harness.tasks.probes.items import Beginning, ClozeItem, Item, MinimalPair, load_items
from harness.tasks.probes.probe import OVERALL, Probe


@dataclass(frozen=True)
class ProbeResult:
    """Accuracies and item scores of a model on a probe."""

    accuracies: dict[str, float | None]
    """By category, and `overall`, in [0, 1]; None if the model cannot be scored."""
    items: pd.DataFrame
    """One row per item: index, category, answer (index of the correct score), scores (nats; the
    acceptable sentence of a minimal pair comes first; of generation, 1 if the right end was
    written, else 0); empty if the model cannot be scored."""
    unsupported_reason: str = ""
    """Why the model cannot be scored; empty if it can."""


def probe(
    model: Path,
    tokenizer: Path,
    name: str,
    read: Callable[[Probe], list[Item]] = load_items,
    compute: Compute = DEFAULT_COMPUTE,
) -> ProbeResult:
    """Scores a saved model on the probe `name` of `PROBES`, without training.

    Args:
        read: returns the items, if the model can be scored.
        compute: its device.

    Raises:
        ValueError: the data of the probe is missing or does not match its declaration.
    """
    vocabulary = Vocabulary.load(tokenizer)
    if reason := _unsupported(model, vocabulary):
        names = (*PROBES[name].categories, OVERALL)
        return ProbeResult(dict.fromkeys(names), _frame([], []), reason)
    items = read(PROBES[name])
    splitter = load_tokenizer(tokenizer)
    texts = [_texts(item, splitter) for item in items]
    score = written if PROBES[name].kind == "generation" else log_likelihoods
    flat = score(load(model), vocabulary, list(chain.from_iterable(texts)), compute)
    scores = np.split(flat, np.cumsum(list(map(len, texts)))[:-1])
    values = item_values(PROBES[name].kind, scores, _answers(items))
    accuracies = accuracy_by_category([item.category for item in items], values)
    return ProbeResult(dict(accuracies), _frame(items, scores))


def _unsupported(model: Path, vocabulary: Vocabulary) -> str:
    metadata = read_metadata(model)
    if FAMILIES[metadata["family"]].kind == "baseline":
        return "it has no network"
    if metadata.get("objective"):
        return unsupported_request(Objective.model_validate(metadata["objective"]))
    return unsupported_request(default_objective(metadata["representation"], vocabulary))


def _texts(item: Item, splitter: PreTrainedTokenizerFast) -> list[Text]:
    """The sentences of an item; with the span of the candidate or of the end, if it has any."""
    if isinstance(item, MinimalPair):
        return [_text(splitter, sentence) for sentence in (item.good, item.bad)]
    if isinstance(item, Beginning):
        sentence = item.text + item.end
        return [_text(splitter, sentence, (len(item.text), len(sentence)))]
    begin = len(item.before)
    return [
        _text(splitter, sentence, (begin, begin + len(candidate)))
        for sentence, candidate in zip(item.sentences, item.candidates, strict=True)
    ]


def _text(
    splitter: PreTrainedTokenizerFast, sentence: str, span: tuple[int, int] | None = None
) -> Text:
    """Tokens of a sentence; the gap holds those that overlap the characters `span`."""
    encoded = splitter(sentence, add_special_tokens=False, return_offsets_mapping=True)
    tokens = tuple(encoded["input_ids"])
    if span is None:
        return Text(tokens)
    begin, end = span
    inside = [i for i, (a, b) in enumerate(encoded["offset_mapping"]) if a < end and b > begin]
    return Text(tokens, (inside[0], inside[-1] + 1))


def _answers(items: Sequence[Item]) -> list[int]:
    return [item.answer if isinstance(item, ClozeItem) else 0 for item in items]


def _frame(items: Sequence[Item], scores: Sequence[np.ndarray]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "index": np.arange(len(items)),
            "category": [item.category for item in items],
            "answer": _answers(items),
            "scores": [list(map(float, s)) for s in scores],
        }
    )
