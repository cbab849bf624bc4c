"""Copies of examples in which a masked network replaces words (Jiao et al. 2020, TinyBERT, section
3.2, algorithm 1).

Shapes: S words to replace, in all texts, K candidates, T tokens, V vocabulary.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from harness.finetuning.distillation import TEXTS, Augmentation, SoftTargetLoss, masked_problem
from harness.models.backbone import Backbone
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.scoring.requests import default_objective
from harness.tasks.examples import Examples

BATCH = 256
"""Words that are predicted at once."""
Texts = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Word:
    """A word of one token, and what may stand in its place."""

    start: int
    end: int
    """Characters of a text."""
    candidates: tuple[str, ...]


def augmented_texts(
    texts: Texts,
    settings: Augmentation,
    backbone: Backbone,
    tokenizer: PreTrainedTokenizerFast,
    max_length: int,
    seed: int,
) -> list[tuple[str, ...]]:
    """The texts of all examples, then those of their first copies, their second ones, ...

    Args:
        max_length: most tokens of a text; words behind them stay.
        seed: a copy is decided by it, the number of the example and that of the copy.

    Raises:
        ValueError: the network does not predict masked tokens.
    """
    if why := _problem(backbone, Vocabulary.of(tokenizer)):
        raise ValueError(
            f"distillation.augment needs a teacher whose network predicts masks: {why}"
        )
    distinct = list(dict.fromkeys(text for example in texts for text in example))
    words = words_of(distinct, backbone, tokenizer, max_length, settings.candidates)
    found = list(texts)
    for copy in range(settings.copies):
        for number, example in enumerate(texts):
            rng = np.random.default_rng([seed, number, copy])
            found.append(tuple(changed(one, words[one], settings, rng) for one in example))
    return found


def _problem(backbone: Backbone, vocabulary: Vocabulary) -> str:
    """Why a network does not predict masked tokens; empty if it does."""
    known, reading = backbone.objective, backbone.representation
    objective = Objective.model_validate(known) if known else default_objective(reading, vocabulary)
    untrained = "" if backbone.has_trained_head else "its token head was not trained"
    return masked_problem(objective, reading) or untrained


def changed(
    text: str, words: Sequence[Word], settings: Augmentation, rng: np.random.Generator
) -> str:
    """A text in which each of its words is replaced with `settings.probability`, by a candidate
    drawn uniformly."""
    parts, end = [], 0
    for word in words:
        if rng.random() < settings.probability:
            chosen = word.candidates[rng.integers(len(word.candidates))]
            parts += [text[end : word.start], chosen]
            end = word.end
    return "".join([*parts, text[end:]])


def words_of(
    texts: Sequence[str],
    backbone: Backbone,
    tokenizer: PreTrainedTokenizerFast,
    max_length: int,
    num_candidates: int,
) -> Mapping[str, list[Word]]:
    """Text to its words of letters that are one token, in order, with the K words of letters that
    the network finds most probable where the word is masked, the word itself possibly among them.
    An unknown word is one token, as in TinyBERT's code."""
    vocabulary = Vocabulary.of(tokenizer)
    allowed = np.flatnonzero([word.isalpha() for word in vocabulary.words])
    allowed = allowed[~vocabulary.special[allowed]]
    rows, sites = [], []
    encoded = tokenizer(
        list(texts), truncation=True, max_length=max_length, return_offsets_mapping=True
    )
    for number, text in enumerate(texts):
        rows.append(encoded["input_ids"][number])
        spans = encoded["offset_mapping"][number]
        places = _single(encoded.word_ids(number))
        sites += [(number, at, *_trimmed(text, *spans[at])) for at in places]
    sites = [one for one in sites if texts[one[0]][one[2] : one[3]].isalpha()]
    found: dict[str, list[Word]] = {text: [] for text in texts}
    best = _most_probable(
        backbone, rows, [one[:2] for one in sites], vocabulary, allowed, num_candidates
    )
    for (number, _, start, end), ids in zip(sites, best, strict=True):
        names = tuple(vocabulary.words[token] for token in ids)
        found[texts[number]].append(Word(start, end, names))
    return found


def _single(word_ids: Sequence[int | None]) -> Iterator[int]:
    """Places of the words of one token."""
    for at, word in enumerate(word_ids):
        beside = [*word_ids[at - 1 : at], *word_ids[at + 1 : at + 2]]
        if word is not None and word not in beside:
            yield at


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The characters of a token without a space before it, which byte-level BPE counts to it."""
    return end - len(text[start:end].lstrip()), end


@torch.inference_mode()
def _most_probable(
    backbone: Backbone,
    rows: Sequence[Sequence[int]],
    sites: Sequence[tuple[int, int]],
    vocabulary: Vocabulary,
    allowed: np.ndarray,
    num_candidates: int,
) -> np.ndarray:
    """[S, K] the most probable of the `allowed` tokens in each place (row, column) when it is
    masked; fewer if fewer are allowed."""
    backbone.eval()
    size = min(num_candidates, len(allowed))
    best = np.zeros((len(sites), size), dtype=np.int64)
    order = np.argsort([len(rows[row]) for row, _ in sites], kind="stable")
    choices = torch.from_numpy(allowed)
    for first in range(0, len(sites), BATCH):
        chosen = order[first : first + BATCH]
        own = [rows[sites[one][0]] for one in chosen]
        columns = torch.tensor([sites[one][1] for one in chosen])
        ids = torch.full((len(own), max(map(len, own))), vocabulary.pad)
        mask = torch.zeros_like(ids)
        for place, row in enumerate(own):
            ids[place, : len(row)], mask[place, : len(row)] = torch.tensor(row), 1
        every = torch.arange(len(own))
        ids[every, columns] = vocabulary.mask
        states = backbone(
            ids, attention_mask=mask, token_type_ids=torch.zeros_like(ids), for_token_head=True
        ).last_hidden_state[every, columns]
        logits = backbone.token_logits(states).float()[:, choices]
        best[chosen] = choices[logits.topk(size, dim=1).indices].numpy()
    return best


def outputs_folder(folder: Path, settings: Augmentation | None) -> Path:
    """Where a teacher with the files in `folder` leaves its outputs on the examples, or on these
    and the copies of `settings`."""
    if settings is None:
        return folder
    name = hashlib.sha256(settings.model_dump_json().encode()).hexdigest()[:12]
    return folder / "augmented" / name


def save_texts(texts: Texts, folder: Path) -> None:
    """Writes the texts of examples and copies."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TEXTS).write_text(json.dumps(list(texts), ensure_ascii=False), encoding="utf-8")


def taught_examples(
    given: Mapping[str, Any] | None, inputs: Mapping[str, Path], examples: Examples | None
) -> Examples | None:
    """The examples of a student with the copies that its teacher made, each with the label of its
    original; the examples alone without augmentation.

    Args:
        given: the fields of `SoftTargetLoss`; null: no teacher.
        inputs: role to folder of a stage.

    Raises:
        ValueError: the teacher was trained on other examples.
    """
    settings = SoftTargetLoss.model_validate(given or {}).augment
    if settings is None or examples is None:
        return examples
    file = outputs_folder(inputs["teacher"], settings) / TEXTS
    texts = [tuple(one) for one in json.loads(file.read_text(encoding="utf-8"))]
    if texts[: len(examples)] != examples.texts:
        raise ValueError(
            "distillation.augment needs a teacher that was trained on the examples of the student, "
            "but the teacher's are others"
        )
    return with_labels(texts, examples)


def with_labels(texts: Texts, examples: Examples) -> Examples:
    """Texts of all examples and their copies, with the labels of the originals."""
    return Examples(list(texts), np.tile(examples.labels, len(texts) // len(examples)))
