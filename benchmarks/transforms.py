"""Tokens per second of each transform, against the training that consumes its batches and against
span corruption written example by example.

    python benchmarks/transforms.py [--repeats 5] [--batch-size 64] [--sequence-length 512]

The text is random tokens in rows without padding, words of 4 tokens in 3; one thread.

- transforms: `apply_transform` on a batch of rows, as the harness calls it for each update.
- training: transformers' BertForMaskedLM of size tiny (2 layers, 128 hidden units): forward,
  backward and AdamW on token-masked rows, with logits at every position ("plain") and with the head
  at the masked positions only, as in the harness. A transform should be 5 times as fast as either:
  then one process is enough to feed a training run.
- per example: T5's algorithm on one example at a time with lists and Python's random numbers, as in
  a plain data loader. Span corruption should be 10 times as fast.
"""

import argparse
import os
import random
import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import transformers
from torch.nn import functional as F

from benchmarks import common
from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.transforms.denoising import Denoising
from harness.pretraining.objectives.transforms.masking import (
    NgramMasking,
    SpanMasking,
    TokenMasking,
)
from harness.pretraining.objectives.transforms.order import (
    Deshuffling,
    Identity,
    PermutationOrder,
    Prefix,
)
from harness.pretraining.objectives.transforms.spans import SpanCorruption
from harness.pretraining.objectives.vocabulary import Vocabulary

VOCAB_SIZE = 30_522
NUM_SPECIAL, NUM_SENTINELS = 5, 100
PAD, CLS, SEP, MASK = 0, 2, 3, 4
TRANSFORMS: dict[str, Any] = {
    "none": Identity(),
    "token masking": TokenMasking(),
    "token masking, whole words": TokenMasking(whole_word=True),
    "token masking, with replacement": TokenMasking(with_replacement=True),
    "n-gram masking": NgramMasking(),
    "span masking": SpanMasking(),
    "span corruption, iid": SpanCorruption(noise="iid"),
    "span corruption, drop": SpanCorruption(replacement="drop"),
    "span corruption, mask tokens": SpanCorruption(replacement="mask_token"),
    "prefix": Prefix(),
    "deshuffling": Deshuffling(),
    "denoising, infill and permute": Denoising(infill_rate=0.3, permute_sentences=1),
    "denoising, all five": Denoising(
        mask_rate=0.1, delete_rate=0.1, infill_rate=0.2, permute_sentences=1, rotate_rate=1
    ),
    "permutation order": PermutationOrder(),
    "span corruption": SpanCorruption(),  # last, next to its baseline
}
TRAINING, PLAIN_TRAINING = "training", "training, plain"
PER_EXAMPLE = "span corruption, per example"
TRAINED_ROWS = 8


def make_vocabulary() -> Vocabulary:
    """BERT's size, with sentinels; three in four tokens start a word."""
    numbers = np.arange(VOCAB_SIZE)
    special = (numbers < NUM_SPECIAL) | (numbers >= VOCAB_SIZE - NUM_SENTINELS)
    return Vocabulary(
        VOCAB_SIZE,
        pad=PAD,
        cls=CLS,
        sep=SEP,
        mask=MASK,
        special=special,
        word_start=special | (numbers % 4 != 0),
        sentinels=numbers[::-1][:NUM_SENTINELS],
    )


def make_rows(batch_size: int, sequence_length: int) -> Rows:
    """Random tokens between [CLS] and [SEP], with a sentence boundary after one token in 20."""
    rng = np.random.default_rng(0)
    shape = batch_size, sequence_length
    tokens = rng.integers(NUM_SPECIAL, VOCAB_SIZE - NUM_SENTINELS, shape)
    tokens[:, 0], tokens[:, -1] = CLS, SEP
    maskable = np.ones(shape, dtype=bool)
    maskable[:, [0, -1]] = False
    sentences = maskable & (rng.random(shape) < 1 / 20)
    lengths = np.full(batch_size, sequence_length)
    return Rows(tokens, np.zeros_like(tokens), maskable, lengths, sentences)


def segments(total: int, parts: int) -> list[int]:
    """Lengths of a random segmentation, as T5's `_random_segmentation`."""
    cuts = [True] * (parts - 1) + [False] * (total - parts)
    random.shuffle(cuts)
    lengths = [1]
    for cut in cuts:
        if cut:
            lengths.append(1)
        else:
            lengths[-1] += 1
    return lengths


def corrupt_example(text: list[int], settings: SpanCorruption) -> tuple[list[int], list[int]]:
    """Source and target of one text, as T5's `random_spans_noise_mask` and its sentinels."""
    num_noise = min(max(round(len(text) * settings.mask_rate), 1), len(text) - 1)
    num_spans = max(round(num_noise / settings.mean_span_length), 1)
    kept_lengths = segments(len(text) - num_noise, num_spans)
    noise_lengths = segments(num_noise, num_spans)
    source, target, place = [CLS], [], 0
    sentinel = VOCAB_SIZE - 1
    for kept, noise in zip(kept_lengths, noise_lengths, strict=True):
        source += text[place : place + kept]
        source.append(sentinel)
        target.append(sentinel)
        target += text[place + kept : place + kept + noise]
        place += kept + noise
        sentinel -= 1
    return [*source, SEP], [*target, sentinel]


def padded(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Token ids [rows, longest row] and lengths [rows]."""
    lengths = [len(row) for row in rows]
    width = max(lengths)
    return np.array([row + [PAD] * (width - len(row)) for row in rows]), np.array(lengths)


def per_example(rows: Rows) -> Callable[[], None]:
    """Span corruption row by row, to padded arrays; the texts are lists already."""
    texts = [row[1:-1] for row in rows.tokens.tolist()]

    def make() -> None:
        pairs = [corrupt_example(text, SpanCorruption()) for text in texts]
        padded([source for source, _ in pairs])
        padded([target for _, target in pairs])

    return make


def training(rows: Rows, vocabulary: Vocabulary, plain: bool) -> Callable[[], None]:
    """One update of a tiny BERT on 8 of the rows; its speed hardly depends on their number."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=512,
        max_position_embeddings=max(512, rows.tokens.shape[1]),
    )
    model: Any = transformers.BertForMaskedLM(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    result = apply_transform(TokenMasking(), rows, np.random.default_rng(0), vocabulary)
    inputs = torch.from_numpy(result.inputs[:TRAINED_ROWS])
    labels = torch.from_numpy(np.where(result.chosen, rows.tokens, -100)[:TRAINED_ROWS])
    masked = labels != -100

    def loss() -> torch.Tensor:
        if plain:
            return cast(torch.Tensor, model(input_ids=inputs, labels=labels).loss)
        states = model.bert(inputs).last_hidden_state
        return F.cross_entropy(model.cls(states[masked]), labels[masked])

    def update() -> None:
        loss().backward()
        optimizer.step()
        optimizer.zero_grad()

    return update


def systems(rows: Rows, vocabulary: Vocabulary) -> dict[str, Callable[[], float]]:
    """Name to a function that returns tokens per second."""
    rng = np.random.default_rng(0)
    num_tokens, trained = (
        int(lengths.sum()) for lengths in (rows.lengths, rows.lengths[:TRAINED_ROWS])
    )
    calls: dict[str, tuple[Callable[[], Any], int]] = {
        name: (partial(apply_transform, transform, rows, rng, vocabulary), num_tokens)
        for name, transform in TRANSFORMS.items()
    }
    calls[PER_EXAMPLE] = per_example(rows), num_tokens
    calls[TRAINING] = training(rows, vocabulary, plain=False), trained
    calls[PLAIN_TRAINING] = training(rows, vocabulary, plain=True), trained
    return {name: partial(rate, *call) for name, call in calls.items()}


def rate(call: Callable[[], Any], num_tokens: int, seconds: float = 0.5) -> float:
    """Tokens per second of repeated calls, after one that is not timed.

    Args:
        num_tokens: tokens that one call processes.
        seconds: least duration.
    """
    call()
    count, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        call()
        count += 1
    return count * num_tokens / spent


def summary(rates: common.Measurements, arguments: argparse.Namespace) -> dict[str, Any]:
    """Medians and ratios of the rates, with settings and machine."""

    def over(baseline: str) -> dict[str, float]:
        return {name: round(common.median_ratio(rates, name, baseline), 1) for name in rates}

    machine = common.machine("numpy", "torch", "transformers")
    return {
        **common.rate_figures(rates, arguments, **machine, threads=torch.get_num_threads()),
        "over_training": over(TRAINING),
        "over_plain_training": over(PLAIN_TRAINING),
        "over_per_example": over(PER_EXAMPLE)["span corruption"],
    }


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    chosen, machine = figures["settings"], figures["machine"]
    setting = (
        f"Batches of {chosen['batch_size']} x {chosen['sequence_length']} tokens, vocabulary "
        f"{VOCAB_SIZE:,}, median of {chosen['repeats']} runs; {machine['processor']}, "
        f"{machine['threads']} thread. Training is BertForMaskedLM, 2 layers, 128 hidden, "
        "with the head at masked positions; plain training has it at all of them."
    )
    over, over_plain = figures["over_training"], figures["over_plain_training"]
    medians = sorted(figures["tokens_per_second"].items(), key=lambda item: item[1])
    rows = [
        [name, f"{median:,}", f"{over[name]:,.1f} x", f"{over_plain[name]:,.1f} x"]
        for name, median in medians
    ]
    least, slowest = min((over[name], name) for name in TRANSFORMS)
    remark = (
        f"Paired within repeats: the slowest transform, {slowest}, / training {least:,.0f}; span "
        f"corruption / per example {figures['over_per_example']:.1f}. `none` copies nothing."
    )
    head = ("transform", "tokens/s", "against training", "against plain training")
    return common.markdown(__file__, "Transforms", setting, head, rows, remark=remark)


def main() -> None:
    """Measures and writes the figures."""
    defaults = {"batch_size": 64, "sequence_length": 512, "repeats": 5}
    arguments = common.parse_arguments(__doc__, "transforms", **defaults)
    torch.set_num_threads(1)
    random.seed(0)
    rows = make_rows(arguments.batch_size, arguments.sequence_length)
    rates = common.measure_in_turns(systems(rows, make_vocabulary()), arguments.repeats)
    figures = summary(rates, arguments)
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
