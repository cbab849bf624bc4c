"""Time that fine-tuning spends on its inputs, as a share of the whole, at size `tiny`.

    python benchmarks/finetuning_inputs.py [--repeats 3] [--examples 1000] [--epochs 3]

For one micro-world task of each kind: encoding the train set (tokenizing, cutting into windows),
the first time and from the cache; making all batches of all epochs; and the whole fine-tuning of a
BERT with 2 layers and 128 hidden units, which makes those batches as well. Shares are of the
fine-tuning in the same repeat. Also the share of padding in the batches, whole and in groups of
similar lengths, and the positions that take as long as one more pass through the network, by which
`harness.finetuning.length_groups` decides on groups. One thread.
"""

import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from benchmarks import common
from benchmarks.common import timed
from harness.data.microworld.documents import documents
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.finetuning.encoded_cache import encoded
from harness.finetuning.heads import task_head
from harness.finetuning.inputs import Encoded, TrainBatches
from harness.finetuning.length_groups import length_groups
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune
from harness.models import MODELS, SIZES
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.tasks import TASKS
from harness.tasks.load_examples import load_examples

KINDS = ("micro-sst2", "micro-mrpc", "micro-swag", "micro-squad", "micro-ner")
SIZES_TIMED = ("nano", "tiny", "small")
PROTOCOL = Protocol(max_sequence_length=64, doc_stride=16)


def make_tokenizer(folder: Path) -> Path:
    """Trains a tokenizer on the micro-world; returns its folder."""
    texts = (s for document in documents(0, 0, 200_000) for s in document)
    train(Tokenizer(vocab_size=1_500, lowercase=True), texts, folder)
    return folder


def make_model(folder: Path, vocab_size: int) -> None:
    """Writes a BERT with random weights."""
    tokens = Tokens(vocab_size=vocab_size, pad=0, start=2, end=3, pair_format=True)
    build(MODELS["bert"], SIZES["tiny"], tokens, "bidirectional", 0).save(folder)


def padding(data: Encoded, batches: list[np.ndarray]) -> float:
    """Share of the positions of all batches that hold no token."""
    lengths = data.lengths
    full = sum(len(items) * int(lengths[items].max()) for items in batches)
    return 1 - sum(int(lengths[items].sum()) for items in batches) / full


def measure(task: str, folder: Path, settings: Finetune, num_examples: int) -> dict[str, float]:
    """Seconds of each part, and shares of padding."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder / "tokenizer")
    head = task_head(TASKS[task], PROTOCOL, tokenizer)
    examples = load_examples(TASKS[task], "train").head(num_examples)
    with tempfile.TemporaryDirectory() as cache:
        cold, _ = timed(lambda: encoded(head, examples, folder / "tokenizer", Path(cache)))
        warm, data = timed(lambda: encoded(head, examples, folder / "tokenizer", Path(cache)))
    assert isinstance(data, Encoded)
    batches = TrainBatches(data, settings, head.collate, seed=0)
    batching, _ = timed(lambda: sum(1 for _ in batches))
    training, _ = timed(
        lambda: finetune(folder / "model", [TaskData(head, data)], settings, seed=0)
    )
    order, lengths = batches.order(0), data.lengths
    groups = [items[rows] for items in order for rows in length_groups(lengths[items])]
    return {
        "encoding": cold,
        "encoding, cached": warm,
        "batching": batching,
        "fine-tuning": training,
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
        yield [task, f"{f['fine-tuning']:.2f} s", *shares, padded]


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    chosen = figures["settings"]
    passes = ", ".join(f"{number:,.0f} ({size})" for size, number in figures["pass"].items())
    setting = (
        f"BERT tiny, {chosen['examples']} examples, {chosen['epochs']} epochs of batches of 16, "
        f"median of {chosen['repeats']} runs; {figures['processor']}, 1 thread. Shares are of the "
        "fine-tuning's time; all inputs are encoding the first time and batching, as a share of "
        "everything. Padding: share of positions without a token, in parentheses in groups of "
        f"similar lengths. One more pass takes as long as {passes} positions."
    )
    head = ("task", "fine-tuning", "encoding", "cached", "batching", "all inputs", "padding")
    return common.markdown(__file__, "Inputs of fine-tuning", setting, head, rows(figures["tasks"]))


def main() -> None:
    """Measures and writes the figures."""
    defaults = {"repeats": 3, "examples": 1_000, "epochs": 3}
    arguments = common.parse_arguments(__doc__, "finetuning_inputs", **defaults)
    settings = Finetune(learning_rate=1e-3, epochs=arguments.epochs, batch_size=16)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokenizer = make_tokenizer(folder / "tokenizer")
        make_model(folder / "model", len(PreTrainedTokenizerFast.from_pretrained(tokenizer)))
        measure(KINDS[0], folder, settings, 64)  # what is imported and compiled once
        repeats = range(arguments.repeats)
        found = {
            task: summarise([measure(task, folder, settings, arguments.examples) for _ in repeats])
            for task in KINDS
        }
    figures = {
        "tasks": found,
        "pass": {size: pass_positions(size, arguments.repeats) for size in SIZES_TIMED},
        "settings": common.settings(arguments),
        "processor": common.machine()["processor"],
    }
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
