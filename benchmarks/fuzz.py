"""Mutations of valid files: each is read, or refused with one clear line, and never a traceback.

    python benchmarks/fuzz.py [--inputs 1000] [--seed 0] [--formats all] [--keep FOLDER]

Prints, for each format, how many inputs were read, refused and failed, and the slowest. Passes
(exit 0) if none failed; inputs that failed are kept in the folder, named by format and number.
"""

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets

from benchmarks.guarded_inputs import Hang, WroteElsewhere, within_seconds, writing_only_to
from harness.experiment.declaration import load
from harness.experiment.source import DeclarationError
from harness.leaderboard.published_files import read_scores
from harness.plan.factory import make_plan

EXPERIMENTS = (
    b"""name: mask_rate
question: Which mask rate is best?
expect: mask_rate=0.3 > mask_rate=0.15
pretrain: &run
  recipe: bert
  size: {num_layers: 1, hidden_size: 16, num_heads: 2, intermediate_size: 32}
  corpus: {source: microworld, num_tokens: 20_000}
  tokenizer: {vocab_size: 500}
  phases: [{fraction: 1, sequence_length: 64}]
  budget: {tokens: 2_000}
grid:
  pretrain.objective.transform.mask_rate: [0.15, 0.3]
seeds: {pretrain: 2, finetune: 1}
evaluate:
  suite: micro-glue-v1
  tasks: [micro-cola, micro-rte]
  probes: [micro-blimp]
  protocol: {pooling: max, max_train_examples: 48}
""",
    b"""name: tuned
question: "Does tuning help?"
tags: [a, b]
threats: ["one world"]
grid:
  how:
    plain: {pretrain.recipe: gpt2, pretrain.size: nano}
    '+tuned': {pretrain.recipe: bert, pretrain.size: nano, evaluate.adaptation: lora}
sweep: {trials: 2, sampler: random, space: {learning_rate: [1e-4, 1e-3]}}
variants:
  large: {pretrain.size: tiny}
compute: {threads: 2}
evaluate:
  tasks: [micro-rte]
  continued_pretraining: [{corpus: {source: task}, budget: {steps: 5}}]
""",
)
SUITES = (
    b"""name: own
question: Which is better?
pretrain: {size: nano, corpus: microworld, budget: {tokens: 2_000}}
evaluate:
  suite:
    name: reviews-v1
    tasks:
      - micro-rte
      - name: reviews
        kind: classification
        data: {source: csv, files: {train: train.csv, validation: dev.csv}}
        text_fields: [text]
        label_field: label
        labels: [bad, good]
        metrics: [accuracy, macro_f1]
        chance: 0.5
      - name: stars
        data: {source: csv, files: {train: train.csv}, holdout_fraction: 0.25}
""",
    b"""name: short
question: Which is better?
pretrain: {size: nano, corpus: microworld, budget: {tokens: 2_000}}
evaluate: {tasks: {reviews: {data: train.csv}, micro-rte: {}}}
""",
)
ROWS = [(f"meal {number} was {('bad', 'good')[number % 2]}", number % 2) for number in range(60)]
TRAIN = "text,label\n" + "".join(f"{text},{('bad', 'good')[label]}\n" for text, label in ROWS)
DEV = "text,label\nit was a good meal,good\nit was a bad meal,bad\n"
LINES = "".join(f'{{"text": "{text}", "label": {label}}}\n' for text, label in ROWS)
PUBLISHED = (
    b"system,data,task,split,metric,value,sd\nBERT,+ Wiki,sst2,test,accuracy,93.5,0.2\n"
    b'BERT,+ Wiki,mrpc,test,f1,88.9,\n"ELMo, base",,sst2,test,accuracy,90.4,0.1\n',
)
OWN_TASK = """name: own
question: Which is better?
pretrain: {size: nano, corpus: microworld, budget: {tokens: 2_000}}
evaluate: {tasks: {reviews: {data: %s}}}
"""

Read = Callable[[Path], object]
"""Reads the file at a path, alone in its folder but for what the format needs."""


@dataclass(frozen=True)
class Format:
    """A format of files that users write."""

    name: str
    """File name of an input."""
    valid: tuple[bytes, ...]
    """Files to mutate."""
    read: Read
    beside: dict[str, str] = field(default_factory=dict)
    """File name to content of the files that it needs."""


def _plan(path: Path) -> object:
    return make_plan(load(path, with_data=True))


def _plan_beside(path: Path) -> object:
    return _plan(path.with_name("own.yaml"))


FILES = {"train.csv": TRAIN, "dev.csv": DEV}
FORMATS: dict[str, Format] = {
    "experiment": Format("experiment.yaml", EXPERIMENTS, _plan),
    "suite": Format("experiment.yaml", SUITES, _plan, FILES),
    "csv": Format("data.csv", (TRAIN.encode(),), _plan_beside, {"own.yaml": OWN_TASK % "data.csv"}),
    "jsonl": Format(
        "data.jsonl", (LINES.encode(),), _plan_beside, {"own.yaml": OWN_TASK % "data.jsonl"}
    ),
    "published": Format("table.csv", PUBLISHED, read_scores),
}
"""Name to format. A format of another file goes here."""

PARTS = (
    *(b"\x00", b"\xff\xfe", b"\xed\xa0\x80", "\u202e".encode(), "\u2028".encode(), b"\r", b"\t"),
    *(b'"', b"'", b",", b":", b"\n", b"{", b"}", b"[", b"- ", b"#", b"&a ", b"*a", b"<<: *run"),
    *(b"null", b"true", b"~", b"!!python/object:os.system x", b"!!binary aa", b"2020-01-01", b"\\"),
    *(b"-1", b"0", b"1e400", b"9" * 400, b".nan", b".inf", b"1e12", b"0.1.2", b"1_0", b"0x1F"),
    *(
        b"=1+1",
        b"../../x",
        b"[" * 2_000,
        b"{a: " * 500,
        b'{"a":' * 2_000,
        b"[" * 30_000 + b"]" * 30_000,
        b"x" * 5_000,
        b"%s {0}",
    ),
    *("\U0001f600".encode(), b"---\n", b"...\n"),
)
"""What is put into files."""
NUMBER = re.compile(rb"\d[\d_.]*")


def _number(draw: random.Random, content: bytes) -> bytes:
    """Another number in place of one."""
    found = list(NUMBER.finditer(content))
    if not found:
        return content
    one = draw.choice(found)
    new = draw.choice((b"0", b"-1", b"1e12", b"1.5", b".nan", b"9" * 30, b"text", b"", b"1000"))
    return content[: one.start()] + new + content[one.end() :]


def _word(draw: random.Random, content: bytes) -> bytes:
    """A word of the file, or nothing, in place of another."""
    words = list(re.finditer(rb"[\w.]+", content))
    if not words:
        return content
    one, other = draw.choice(words), draw.choice(words)
    return content[: one.start()] + draw.choice((other[0], b"")) + content[one.end() :]


def _span(draw: random.Random, content: bytes) -> tuple[int, int]:
    begin = draw.randrange(len(content) + 1)
    return begin, min(len(content), begin + draw.choice((1, 1, 2, 8, 40)))


def _insert(draw: random.Random, content: bytes) -> bytes:
    begin, end = _span(draw, content)
    kept = draw.choice((begin, end))
    return content[:begin] + draw.choice(PARTS) + content[kept:]


def _delete(draw: random.Random, content: bytes) -> bytes:
    begin, end = _span(draw, content)
    return content[:begin] + content[end:]


def _repeat(draw: random.Random, content: bytes) -> bytes:
    begin, end = _span(draw, content)
    return content[:end] + content[begin:end] * draw.choice((1, 2, 50)) + content[end:]


def _byte(draw: random.Random, content: bytes) -> bytes:
    begin, _ = _span(draw, content)
    return content[:begin] + bytes([draw.randrange(256)]) + content[begin + 1 :]


def _lines(draw: random.Random, content: bytes) -> bytes:
    """Lines without one, with one twice, or with two exchanged."""
    lines = content.splitlines(keepends=True) or [b""]
    one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[one] = draw.choice((b"", lines[one] * 2, lines[other]))
    return b"".join(lines)


def _cut(draw: random.Random, content: bytes) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


MUTATIONS = (
    *(_number, _number, _word, _word, _insert, _insert),
    *(_delete, _repeat, _byte, _lines, _cut),
)
"""Those that more often give readable files are listed twice."""


def inputs(one: Format, number: int, seed: int) -> Iterator[bytes]:
    """Files that differ from valid ones by one to four mutations; the same for the same seed."""
    for index in range(number):
        draw = random.Random(f"{seed} {one.name} {index}")
        content = draw.choice(one.valid)
        for _ in range(draw.choice((1, 1, 2, 4))):
            content = draw.choice(MUTATIONS)(draw, content)
        yield content


def outcome(one: Format, content: bytes, folder: Path) -> str:
    """`read`, `refused`, or what went wrong, when the content is read in an empty folder."""
    for name, text in one.beside.items():
        (folder / name).write_text(text)
    path = folder / one.name
    path.write_bytes(content)
    cache = Path(datasets.config.HF_DATASETS_CACHE)
    try:
        with within_seconds(), writing_only_to(folder, cache):
            one.read(path)
    except (Hang, WroteElsewhere) as error:
        return f"{type(error).__name__}: {error}"
    except ValueError as error:
        lines = error.problems if isinstance(error, DeclarationError) else [str(error)]
        unclear = [line for line in lines if not line.isprintable() or not 9 < len(line) < 20_000]
        return f"unclear: {unclear[0]!a:.300}" if unclear else "refused"
    except Exception as error:  # which is what is looked for
        return f"{type(error).__name__}: {str(error)!a:.300}"
    return "read"


WIDTHS = {"read": 8, "refused": 9, "failed": 8}
"""Outcome to the width of its column."""


@dataclass
class Campaign:
    """What became of the inputs of a format."""

    outcomes: Counter[str] = field(default_factory=Counter)
    failures: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    """Number of an input to what went wrong, and the input."""
    seconds: float = 0.0
    slowest: float = 0.0


def campaign(one: Format, number: int, seed: int) -> Campaign:
    """Reads mutated files of a format, in the working folder of the process."""
    found = Campaign()
    outcome(one, one.valid[0], Path.cwd())  # loads libraries, which is not the time of an input
    for index, content in enumerate(inputs(one, number, seed)):
        for file in Path.cwd().iterdir():
            if file.is_file():
                file.unlink()
        start = time.perf_counter()
        result = outcome(one, content, Path.cwd())
        took = time.perf_counter() - start
        found.seconds, found.slowest = found.seconds + took, max(found.slowest, took)
        failed = result not in ("read", "refused")
        found.outcomes["failed" if failed else result] += 1
        if failed:
            found.failures[index] = result, content
    return found


@contextmanager
def working_folder() -> Iterator[None]:
    """A context in an empty working folder, with the cache of `datasets` in another."""
    before = datasets.config.HF_DATASETS_CACHE
    with TemporaryDirectory() as folder, TemporaryDirectory() as cache, chdir(folder):
        datasets.config.HF_DATASETS_CACHE = Path(cache)
        try:
            yield
        finally:
            datasets.config.HF_DATASETS_CACHE = before


def main() -> None:
    """Reads the inputs of all formats, and prints a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1_000, help="of each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--keep", type=Path, help="folder of the inputs that failed")
    arguments = parser.parse_args()
    keep = arguments.keep.absolute() if arguments.keep else None
    heads = "".join(f"{name:>{width}}" for name, width in WIDTHS.items())
    print(f"{'format':12}{'inputs':>8}{heads}{'seconds':>9}{'slowest':>9}")
    failed = False
    for name in arguments.formats.split(","):
        with working_folder():
            found = campaign(FORMATS[name], arguments.inputs, arguments.seed)
        counts = "".join(f"{found.outcomes[key]:>{width}}" for key, width in WIDTHS.items())
        print(f"{name:12}{arguments.inputs:>8}{counts}{found.seconds:>9.1f}{found.slowest:>9.2f}")
        for index, (what, content) in found.failures.items():
            print(f"  {name} {index}: {what}")
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{name}-{index}").write_bytes(content)
        failed |= bool(found.failures)
    sys.exit(failed)


if __name__ == "__main__":
    main()
