"""Time that fine-tuning spends on its inputs, as a share of the whole, at size `tiny`.

    python benchmarks/finetuning_inputs.py [--repeats 3] [--examples 1000] [--epochs 3]

For one micro-world task of each kind: encoding the train set (tokenizing, cutting into windows),
the first time and from the cache; making all batches of all epochs; and the whole fine-tuning of a
BERT with 2 layers and 128 hidden units, which makes those batches as well. Shares are of the
fine-tuning in the same repeat. Also the share of padding in the batches, with and without grouping
by length. One thread.
"""

import os
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from transformers import PreTrainedTokenizerFast

from benchmarks import common
from benchmarks.common import timed
from harness.data.microworld.documents import documents
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.finetuning.encoded_cache import encoded
from harness.finetuning.heads import task_head
from harness.finetuning.inputs import Encoded, TrainBatches
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune
from harness.models import MODELS, SIZES
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.tasks import TASKS
from harness.tasks.load_examples import load_examples

KINDS = ("micro-sst2", "micro-mrpc", "micro-swag", "micro-squad", "micro-ner")
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
    shuffled = np.random.default_rng(0).permutation(data.num_items)
    plain = np.array_split(shuffled, max(1, data.num_items // settings.batch_size))
    return {
        "encoding": cold,
        "encoding, cached": warm,
        "batching": batching,
        "fine-tuning": training,
        "padding": padding(data, batches.order(0)),
        "padding, unsorted": padding(data, plain),
    }


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
        padded = f"{f['padding']:.1%} ({f['padding, unsorted']:.1%})"
        yield [task, f"{f['fine-tuning']:.2f} s", *shares, padded]


def page(found: dict[str, dict[str, float]], chosen: dict[str, int]) -> str:
    """The figures as markdown."""
    setting = (
        f"BERT tiny, {chosen['examples']} examples, {chosen['epochs']} epochs of batches of 16, "
        f"median of {chosen['repeats']} runs; {common.machine()['processor']}, 1 thread. Shares "
        "are of the fine-tuning's time; all inputs are encoding the first time and batching, as a "
        "share of everything. Padding: share of positions without a token, in parentheses for "
        "batches that are not sorted by length."
    )
    head = ("task", "fine-tuning", "encoding", "cached", "batching", "all inputs", "padding")
    return common.markdown(__file__, "Inputs of fine-tuning", setting, head, rows(found))


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
    common.save(found, page(found, common.settings(arguments)), arguments.out)


if __name__ == "__main__":
    main()
