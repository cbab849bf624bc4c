"""Fuzzer of checkpoints and compressed text: seeded mutations of small valid files, and how they
are read.

A mutated file is either read, with finite numbers, or refused with a `ValueError` of one line;
nothing is written outside the folder. `tests/benchmarks/test_fuzz_formats_binary.py` runs a short
form.

    python -m benchmarks.fuzz_formats_binary --format all --inputs 1000 --seed 0
"""

import argparse
import copy
import gzip
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
import transformers
from pyarrow import parquet

from benchmarks.guarded_inputs import within_seconds, writing_only_to
from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.sources import JsonLinesCorpus, LocalCorpus, ParquetCorpus, TextCorpus
from harness.data.tokenizers import Tokenizer, pretrained
from harness.data.tokenizers.training import train
from harness.models import MODELS, Size
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.models.checkpoints import files
from harness.pretraining.checkpoint_import import adopt, check_tokens, check_type

TEXTS = [f"Document {number}. It has a few words, and {7 * number} more." for number in range(40)]
TINY = Size(num_layers=1, hidden_size=8, num_heads=2, intermediate_size=16)
VOCAB = 100
ODD: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2**31, 10**9, 10**18, 10**30, 0.5, -1.5, 1e308),
    *(float("nan"), float("inf"), "", "x", "../../x", "org/kernel", "\0", "a" * 300),
    *([], [3], ["a", None], {}, {"a": 1}, {"": "org/kernel"}),
)
"""Values that replace another."""


def mutated_bytes(rng: random.Random, content: bytes) -> bytes:
    """`content` cut off, or with changed, inserted, moved or repeated bytes."""
    place, other = sorted(rng.randrange(len(content)) for _ in range(2))
    kind = rng.randrange(5)
    if kind == 0:
        return content[:place]
    if kind == 1:
        changed = bytearray(content)
        for _ in range(rng.choice((1, 2, 8))):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        return bytes(changed)
    if kind == 2:
        return content[:place] + rng.randbytes(8) + content[place:]
    if kind == 3:
        return content[:place] + b"\xff" * 8 + content[place + 8 :]
    return content[other:] + content[place:other] + content[:place]


def mutated_json(rng: random.Random, content: bytes) -> bytes:
    """A JSON text with an odd value, a field less, or two fields exchanged; or `mutated_bytes`."""
    if rng.random() < 0.2:
        return mutated_bytes(rng, content)
    tree = json.loads(content)
    for _ in range(rng.choice((1, 1, 2))):
        holder, key = rng.choice([*_places(tree)])
        _, other = rng.choice([place for place in _places(tree) if place[0] is holder])
        kind = rng.randrange(4)
        if kind == 0 and isinstance(holder, dict):
            del holder[key]
        elif kind == 1:
            holder[key], holder[other] = holder[other], holder[key]
        else:
            holder[key] = copy.deepcopy(rng.choice(ODD))  # a later change is of this input alone
    return json.dumps(tree).encode()


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """(holder, key) of every value within a JSON object or list; the object itself if empty."""
    for key in [*tree] if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from _places(tree[key])


def mutated_safetensors(rng: random.Random, content: bytes) -> bytes:
    """A safetensors file whose header, data or length of the header is mutated."""
    length = int.from_bytes(content[:8], "little")
    header, data = content[8 : 8 + length], content[8 + length :]
    kind = rng.randrange(4)
    if kind == 0:
        return mutated_bytes(rng, content)
    if kind == 1:
        return content[:8] + header + mutated_bytes(rng, data)
    if kind == 2:
        wrong = rng.choice((0, 1, length - 1, length + 1, 2**40, 2**63))
        return wrong.to_bytes(8, "little") + header + data
    changed = mutated_json(rng, header)
    return len(changed).to_bytes(8, "little") + changed + data


def _checkpoint(folder: Path, own: bool) -> Path:
    """A tiny BERT, ours or as transformers saves it, with its tokenizer; made once."""
    valid = folder / f"valid-{'own' if own else 'published'}"
    if not valid.exists():
        transformers.logging.disable_progress_bar()
        train(Tokenizer(vocab_size=VOCAB), iter(TEXTS), valid)
        if own:
            model = MODELS["bert"].model_copy(update={"max_position": 16})
            build(model, TINY, Tokens(VOCAB, 0, 2, 3), "bidirectional", 0).save(valid)
        else:
            config = transformers.BertConfig(
                vocab_size=VOCAB,
                hidden_size=8,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                max_position_embeddings=16,
            )
            transformers.BertForMaskedLM(config).save_pretrained(valid)
    return valid


def read_checkpoint(folder: Path) -> None:
    """Reads a checkpoint as `harness evaluate` and its stages do.

    Raises:
        ValueError: it is damaged.
    """
    if why := files.problem(folder):
        raise ValueError(why)
    check_type(folder)
    pretrained.check(folder)
    pretrained.adopt(folder, folder / "tokenizer")
    backbone = adopt(folder)
    check_tokens(backbone, folder / "tokenizer")
    states = backbone.eval()(torch.arange(5, 11)[None]).last_hidden_state
    assert states is not None and states.isfinite().all(), "a state is not finite"


def _of_checkpoint(name: str, own: bool, rng: random.Random, folder: Path) -> None:
    """Reads a checkpoint whose file `name` is mutated."""
    case = folder / "case"
    shutil.rmtree(case, ignore_errors=True)
    shutil.copytree(_checkpoint(folder, own), case)
    mutated = mutated_safetensors if name.endswith(".safetensors") else mutated_json
    (case / name).write_bytes(mutated(rng, (case / name).read_bytes()))
    read_checkpoint(case)


def _text(file: Path) -> None:
    content = "\n\n".join(TEXTS).encode()
    if file.suffix == ".gz":
        file.write_bytes(gzip.compress(content, mtime=0))
    else:
        with pa.output_stream(str(file), compression="zstd") as stream:
            stream.write(content)


def _lines(file: Path) -> None:
    content = "\n".join(json.dumps({"text": text}) for text in TEXTS)
    file.write_bytes(gzip.compress(content.encode(), mtime=0))


def _table(file: Path) -> None:
    parquet.write_table(pa.table({"text": TEXTS, "number": list(range(len(TEXTS)))}), file)


def _of_corpus(
    name: str,
    write: Callable[[Path], None],
    corpus: Callable[..., LocalCorpus],
    rng: random.Random,
    folder: Path,
) -> None:
    """Reads a mutated file of text."""
    valid, case = folder / f"valid.{name}", folder / f"case.{name}"
    if not valid.exists():
        write(valid)
    case.write_bytes(mutated_bytes(rng, valid.read_bytes()))
    for document in read_documents(corpus(path=str(case))):
        assert all(isinstance(sentence, str) for sentence in document)


FORMATS: dict[str, Callable[[random.Random, Path], None]] = {
    "safetensors": partial(_of_checkpoint, "model.safetensors", False),
    "safetensors of ours": partial(_of_checkpoint, "model.safetensors", True),
    "config.json": partial(_of_checkpoint, "config.json", False),
    "config.json of ours": partial(_of_checkpoint, "config.json", True),
    "harness.json": partial(_of_checkpoint, "harness.json", True),
    "tokenizer.json": partial(_of_checkpoint, "tokenizer.json", False),
    "tokenizer_config.json": partial(_of_checkpoint, "tokenizer_config.json", False),
    "text by gzip": partial(_of_corpus, "txt.gz", _text, TextCorpus),
    "text by zstd": partial(_of_corpus, "txt.zst", _text, TextCorpus),
    "JSON lines by gzip": partial(_of_corpus, "jsonl.gz", _lines, JsonLinesCorpus),
    "parquet": partial(_of_corpus, "parquet", _table, ParquetCorpus),
}
"""Name to a function of a generator and a folder that writes one mutated input to the folder and
reads it; a ValueError refuses the input, any other exception is a fault of the harness."""


def outcome(name: str, seed: int, folder: Path) -> str:
    """What one mutated input of a format leads to: `read`, or the line that refuses it.

    Raises:
        AssertionError: numbers are not finite, or a message has several lines.
        WroteElsewhere: a file was written outside `folder`.
        Hang: it took too long.
        Exception: whatever else the harness does not catch.
    """
    with within_seconds(), writing_only_to(folder):
        try:
            FORMATS[name](random.Random(f"{name} {seed}"), folder)
        except ValueError as error:
            line = str(error)
        else:
            return "read"
    assert len(line.splitlines()) == 1, f"no single line: {line}"
    return line


def main() -> None:
    """Prints how many inputs of each format were read, refused and at fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--format", choices=["all", *FORMATS], default="all")
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    failed = 0
    for name in FORMATS if given.format == "all" else [given.format]:
        counts: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(given.seed, given.seed + given.inputs):
                try:
                    counts[
                        "read" if outcome(name, seed, Path(folder)) == "read" else "refused"
                    ] += 1
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # any other is what is looked for, also a panic
                    counts["faults"] += 1
                    print(f"{name}, seed {seed}: {type(error).__name__}: {str(error)[:200]!r}")
        failed += counts["faults"]
        print(
            f"{name}: {counts['read']} read, {counts['refused']} refused, {counts['faults']} faults"
        )
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
