"""Time that fine-tuning spends on its inputs, as a share of the whole, at size `tiny`.

    python benchmarks/finetuning_inputs.py [--repeats 3] [--examples 1000] [--epochs 3]

For one micro-world task of each kind: encoding the train set (tokenizing, cutting into windows),
the first time and from the cache; making all batches of all epochs; and the whole fine-tuning of a
BERT with 2 layers and 128 hidden units, which makes those batches as well. Shares are of the
fine-tuning in the same repeat. Also the share of padding in the batches, whole and in groups of
similar lengths; the time with groups, relative to whole batches; and the positions that take as
long as one more pass through the network, by which `harness.finetuning.length_groups` decides on
groups. With HARNESS_DATA, also SST-2 and QNLI, with tokenizers of their texts. One thread.
"""

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from benchmarks import common
from benchmarks.common import timed
from harness.data.microworld.documents import documents
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.finetuning import length_groups as groups_of_lengths
from harness.finetuning.encoded_cache import encoded
from harness.finetuning.heads import task_head
from harness.finetuning.inputs import Encoded, TrainBatches
from harness.finetuning.length_groups import PASS_POSITIONS, length_groups
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune
from harness.models import MODELS, SIZES
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.tasks import TASKS
from harness.tasks.load_examples import load_examples

KINDS = ("micro-sst2", "micro-mrpc", "micro-swag", "micro-squad", "micro-ner")
REAL = ("sst2", "qnli")
SIZES_TIMED = ("nano", "tiny", "small")
PROTOCOL = Protocol(max_sequence_length=64, doc_stride=16)
REAL_PROTOCOL = Protocol(max_sequence_length=128)
BATCH_SIZE, REAL_BATCH_SIZE = 16, 32


def make_network(folder: Path, texts: Iterator[str], vocab_size: int) -> None:
    """Writes a tokenizer trained on `texts`, and a BERT with random weights."""
    train(Tokenizer(vocab_size=vocab_size, lowercase=True), texts, folder / "tokenizer")
    learned = len(PreTrainedTokenizerFast.from_pretrained(folder / "tokenizer"))
    tokens = Tokens(vocab_size=learned, pad=0, start=2, end=3, pair_format=True)
    build(MODELS["bert"], SIZES["tiny"], tokens, "bidirectional", 0).save(folder / "model")


def padding(data: Encoded, batches: list[np.ndarray]) -> float:
    """Share of the positions of all batches that hold no token."""
    lengths = data.lengths
    full = sum(len(items) * int(lengths[items].max()) for items in batches)
    return 1 - sum(int(lengths[items].sum()) for items in batches) / full


def measure(
    task: str, folder: Path, protocol: Protocol, settings: Finetune, num_examples: int
) -> dict[str, float]:
    """Seconds of each part, and shares of padding."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder / "tokenizer")
    head = task_head(TASKS[task], protocol, tokenizer)
    examples = load_examples(TASKS[task], "train").head(num_examples)
    with tempfile.TemporaryDirectory() as cache:
        cold, _ = timed(lambda: encoded(head, examples, folder / "tokenizer", Path(cache)))
        warm, data = timed(lambda: encoded(head, examples, folder / "tokenizer", Path(cache)))
    assert isinstance(data, Encoded)
    batches = TrainBatches(data, settings, head.collate, seed=0)
    batching, _ = timed(lambda: sum(1 for _ in batches))

    def training() -> float:
        data_of_task = [TaskData(head, data)]
        return timed(lambda: finetune(folder / "model", data_of_task, settings, seed=0))[0]

    with_groups = training()
    with patch.object(groups_of_lengths, "PASS_POSITIONS", sys.maxsize):
        whole = training()
    order, lengths = batches.order(0), data.lengths
    groups = [
        items[rows] for items in order for rows in length_groups(lengths[items], PASS_POSITIONS)
    ]
    return {
        "encoding": cold,
        "encoding, cached": warm,
        "batching": batching,
        "fine-tuning": with_groups,
        "fine-tuning, whole batches": whole,
        "padding": padding(data, order),
        "padding, groups": padding(data, groups),
    }


def pass_positions(size: str, num_repeats: int) -> float:
    """Positions whose forward and backward pass takes as long as the fixed part of a pass: of a
    line through the least times of short and long batches."""
    tokens = Tokens(vocab_size=1_500, pad=0, start=2, end=3, pair_format=True)
    network = build(MODELS["bert"], SIZES[size], tokens, "bidirectional", 0).train()

    def seconds(width: int) -> float:
        ids = torch.full((16, width), 5)
        runs = (timed(lambda: network(ids).last_hidden_state.sum().backward()) for _ in range(12))
        return min(run for run, _ in list(runs)[2:])

    found = []
    for _ in range(num_repeats):
        short, long = seconds(4), seconds(64)
        slope = (long - short) / (16 * 60)
        found.append(short / slope - 16 * 4)
    return statistics.median(found)


def summarise(repeats: list[dict[str, float]]) -> dict[str, float]:
    """Medians over the repeats; shares are of the fine-tuning of the same repeat."""
    shares = {
        f"{part}, share": [run[part] / run["fine-tuning"] for run in repeats]
        for part in ("encoding", "encoding, cached", "batching")
    }
    shares["groups, ratio"] = [
        run["fine-tuning"] / run["fine-tuning, whole batches"] for run in repeats
    ]
    total = [run["encoding"] + run["batching"] for run in repeats]
    shares["all inputs, share"] = [
        t / (run["encoding"] + run["fine-tuning"]) for t, run in zip(total, repeats, strict=True)
    ]
    seconds = {name: [run[name] for run in repeats] for name in repeats[0]}
    return {name: statistics.median(values) for name, values in {**seconds, **shares}.items()}


def rows(found: dict[str, dict[str, float]]) -> Iterator[list[str]]:
    """A row for each task."""
    for task, f in found.items():
        parts = ("encoding", "encoding, cached", "batching", "all inputs")
        shares = [f"{f[f'{part}, share']:.1%}" for part in parts]
        padded = f"{f['padding']:.1%} ({f['padding, groups']:.1%})"
        yield [task, f"{f['fine-tuning']:.2f} s", *shares, padded, f"{f['groups, ratio']:.2f}"]


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    chosen = figures["settings"]
    passes = ", ".join(f"{number:,.0f} ({size})" for size, number in figures["pass"].items())
    setting = (
        f"BERT tiny, {chosen['examples']} examples, {chosen['epochs']} epochs of batches of "
        f"{BATCH_SIZE} ({REAL_BATCH_SIZE} of real texts), median of {chosen['repeats']} runs; "
        f"{figures['processor']}, 1 thread. Shares are of the fine-tuning's time; all inputs are "
        "encoding the first time and batching, as a share of everything. Padding: share of "
        "positions without a token, in parentheses in groups of similar lengths; groups: time with "
        f"them, relative to whole batches. One more pass takes as long as {passes} positions."
    )
    head = (
        *("task", "fine-tuning", "encoding", "cached", "batching", "all inputs", "padding"),
        "groups",
    )
    return common.markdown(__file__, "Inputs of fine-tuning", setting, head, rows(figures["tasks"]))


def main() -> None:
    """Measures and writes the figures."""
    defaults = {"repeats": 3, "examples": 1_000, "epochs": 3}
    arguments = common.parse_arguments(__doc__, "finetuning_inputs", **defaults)

    def figures_of(
        task: str, folder: Path, protocol: Protocol, batch_size: int
    ) -> dict[str, float]:
        settings = Finetune(learning_rate=1e-3, epochs=arguments.epochs, batch_size=batch_size)
        measure(task, folder, protocol, settings, 64)  # what is imported and compiled once
        repeats = range(arguments.repeats)
        return summarise(
            [measure(task, folder, protocol, settings, arguments.examples) for _ in repeats]
        )

    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_network(folder, (s for text in documents(0, 0, 200_000) for s in text), 1_500)
        for task in KINDS:
            found[task] = figures_of(task, folder, PROTOCOL, BATCH_SIZE)
        for task in REAL if os.environ.get("HARNESS_DATA") else ():
            texts = load_examples(TASKS[task], "train").texts
            make_network(folder / task, (one for text in texts for one in text), 8_000)
            found[task] = figures_of(task, folder / task, REAL_PROTOCOL, REAL_BATCH_SIZE)
    figures = {
        "tasks": found,
        "pass": {size: pass_positions(size, arguments.repeats) for size in SIZES_TIMED},
        "settings": common.settings(arguments),
        "processor": common.machine()["processor"],
    }
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
