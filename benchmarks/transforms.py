"""Tokens per second of each transform, against the training that consumes its batches and against
span corruption written example by example.

    python benchmarks/transforms.py [--repeats 5] [--batch-size 64] [--sequence-length 512]

The text is random tokens in rows without padding, words of 4 tokens in 3; one thread.

- transforms: `apply_transform` on a batch of rows, as the harness calls it for each update.
- training: transformers' BertForMaskedLM of size tiny (2 layers, 128 hidden), forward, backward
  and AdamW on token-masked rows; as it comes, with logits at every position ("plain"), and with the
  head at the masked positions only, as the harness trains. A transform should be 5 times as fast as
  either, so that one process can feed a training.
- per example: T5's algorithm on one example at a time with lists and Python's random numbers, as a
  plain data loader would have it. Span corruption should be 10 times as fast.

They take turns in each repeat. Figures go to benchmarks/results/.
"""

import argparse
import json
import os
import platform
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import transformers
from torch.nn import functional as F

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

RESULTS = Path(__file__).parent / "results" / "transforms.json"
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
    "span corruption": SpanCorruption(),  # last, next to what it is compared with
}
TRAINING, PLAIN_TRAINING = "training", "training, plain"
PER_EXAMPLE = "span corruption, per example"
TRAINED_ROWS = 8


def make_vocabulary() -> Vocabulary:
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
    lengths = [len(row) for row in rows]
    width = max(lengths)
    return np.array([row + [PAD] * (width - len(row)) for row in rows]), np.array(lengths)


def per_example(rows: Rows) -> Callable[[], None]:
    """What it takes to make the same arrays, the texts being there as lists already."""
    texts = [row[1:-1] for row in rows.tokens.tolist()]

    def make() -> None:
        pairs = [corrupt_example(text, SpanCorruption()) for text in texts]
        padded([source for source, _ in pairs])
        padded([target for _, target in pairs])

    return make


def training(rows: Rows, vocabulary: Vocabulary, plain: bool) -> Callable[[], None]:
    """One update of a tiny BERT on 8 of the rows; its rate hardly depends on their number."""
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


def systems(rows: Rows, vocabulary: Vocabulary) -> dict[str, tuple[Callable[[], Any], int]]:
    """What is called, and the tokens that one call gets through."""
    rng = np.random.default_rng(0)
    num_tokens = int(rows.lengths.sum())
    calls: dict[str, tuple[Callable[[], Any], int]] = {
        name: (partial(apply_transform, transform, rows, rng, vocabulary), num_tokens)
        for name, transform in TRANSFORMS.items()
    }
    calls[PER_EXAMPLE] = per_example(rows), num_tokens
    trained = int(rows.lengths[:TRAINED_ROWS].sum())
    calls[TRAINING] = training(rows, vocabulary, plain=False), trained
    calls[PLAIN_TRAINING] = training(rows, vocabulary, plain=True), trained
    return calls


def rate(call: Callable[[], Any], num_tokens: int, seconds: float = 0.5) -> float:
    """Tokens per second over at least so many seconds, after one call that is not timed."""
    call()
    count, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        call()
        count += 1
    return count * num_tokens / spent


def measure(rows: Rows, repeats: int) -> dict[str, list[float]]:
    calls = systems(rows, make_vocabulary())
    rates: dict[str, list[float]] = {name: [] for name in calls}
    for repeat in range(repeats):
        for name, (call, num_tokens) in calls.items():
            rates[name].append(rate(call, num_tokens))
        print(repeat, {name: f"{values[-1]:,.0f}" for name, values in rates.items()}, flush=True)
    return rates


def summary(rates: dict[str, list[float]], arguments: argparse.Namespace) -> dict[str, Any]:
    def ratio(one: str, other: str) -> float:
        pairs = zip(rates[one], rates[other], strict=True)
        return round(statistics.median(a / b for a, b in pairs), 1)

    return {
        "settings": {name: getattr(arguments, name) for name in vars(arguments)},
        "machine": {
            "processor": processor(),
            "threads": torch.get_num_threads(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "tokens_per_second": {name: round(statistics.median(v)) for name, v in rates.items()},
        "all_tokens_per_second": {name: np.rint(v).tolist() for name, v in rates.items()},
        "over_training": {name: ratio(name, TRAINING) for name in rates},
        "over_plain_training": {name: ratio(name, PLAIN_TRAINING) for name in rates},
        "over_per_example": ratio("span corruption", PER_EXAMPLE),
    }


def processor() -> str:
    """Name of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def table(figures: dict[str, Any]) -> str:
    settings, machine = figures["settings"], figures["machine"]
    lines = [
        "# Transforms",
        "",
        f"Batches of {settings['batch_size']} x {settings['sequence_length']} tokens, vocabulary "
        f"{VOCAB_SIZE:,}, median of {settings['repeats']} runs; {machine['processor']}, "
        f"{machine['threads']} thread. Training is BertForMaskedLM, 2 layers, 128 hidden, "
        "with the head at masked positions; plain training has it at all of them.",
        "",
        "| transform | tokens/s | against training | against plain training |",
        "|---|---:|---:|---:|",
    ]
    rates = figures["tokens_per_second"]
    for name in sorted(rates, key=lambda name: rates[name]):
        over = [figures[key][name] for key in ("over_training", "over_plain_training")]
        lines.append(f"| {name} | {rates[name]:,} | {over[0]:,.1f} x | {over[1]:,.1f} x |")
    least, slowest = min((figures["over_training"][name], name) for name in TRANSFORMS)
    lines += [
        "",
        f"Paired within repeats: the slowest transform, {slowest}, / training {least:,.0f}; span "
        f"corruption / per example {figures['over_per_example']:.1f}. `none` copies nothing. "
        "Made by `python benchmarks/transforms.py`.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--sequence-length", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    random.seed(0)
    rates = measure(make_rows(arguments.batch_size, arguments.sequence_length), arguments.repeats)
    out = arguments.out
    del arguments.out
    figures = summary(rates, arguments)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(figures, indent=2) + "\n")
    out.with_suffix(".md").write_text(table(figures))
    print(table(figures))


if __name__ == "__main__":
    main()
