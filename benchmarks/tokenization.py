"""Tokenization of a generated corpus: tokens per second against the tokenizers library alone, peak
memory, kills, and what training takes to read the result.

    python benchmarks/tokenization.py [--tokens 20_000_000] [--repeats 5] [--kills 5] [--threads 2]
        [--library-tokens 0] [--folder FOLDER]

- library: `encode_batch_fast` of whole documents, which are in memory, to nowhere.
- sentences: the same of their sentences, whose ends a token stream has.
- harness: `split_corpus` of the same documents as JSON lines on disk and `write_split`, to token
  streams on disk. What it takes beyond the library is reading, sentence splitting and writing.

All run in new processes, in turn, with as many threads; the library on the first LIBRARY_TOKENS, if
these are given, as documents are alike. The corpus is written into FOLDER, or read if it is there.
The harness is then killed (SIGKILL) several times, and the streams compared byte by byte with those
of an attempt that was not. Batches of 32 x 128 masked tokens of the stream are compared with those
of its first BASELINE_TOKENS.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import common
from harness.core.memory import peak_memory
from harness.data.corpora.load_corpus import paragraphs
from harness.data.corpora.mixing import split_corpus
from harness.data.corpora.packing import Packing
from harness.data.corpora.sources import JsonLinesCorpus
from harness.data.corpora.token_stream import TokenStream
from harness.data.corpora.tokenization import write_split
from harness.data.tokenizers import Tokenizer, training
from harness.pretraining.budget import Phase
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.batches import BatchMaker
from harness.pretraining.objectives.vocabulary import Vocabulary

NUM_WORDS = 60_000
WORDS_OF_DOCUMENT, WORDS_OF_SENTENCE = 600, 18
TOKENS_PER_WORD = 1.6
"""About, with the full stops of sentences."""
VOCAB_SIZE = 30_522
"""BERT's (Devlin et al. 2019)."""
BATCH = 512
BASELINE_TOKENS = 1_000_000
NUM_BATCHES = 200


def documents(num_words: int) -> Iterator[str]:
    """Documents of words of 1 to 5 syllables, whose frequencies follow Zipf's law."""
    rng = np.random.default_rng(0)
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in "aeiou"]
    words = np.array(["".join(rng.choice(syllables, rng.integers(1, 6))) for _ in range(NUM_WORDS)])
    shares = np.cumsum(1 / np.arange(1, NUM_WORDS + 1))
    for _ in range(0, num_words, WORDS_OF_DOCUMENT):
        drawn = np.searchsorted(shares, rng.random(WORDS_OF_DOCUMENT) * shares[-1])
        chosen = words[drawn].tolist()
        cuts = range(0, WORDS_OF_DOCUMENT, WORDS_OF_SENTENCE)
        sentences = [chosen[cut : cut + WORDS_OF_SENTENCE] for cut in cuts]
        yield " ".join(" ".join(one).capitalize() + "." for one in sentences)


def prepare(folder: Path, num_tokens: int) -> None:
    """Writes the corpus, and a tokenizer trained on its beginning."""
    with (folder / "corpus.jsonl").open("w") as file:
        for text in documents(int(num_tokens / TOKENS_PER_WORD)):
            file.write(json.dumps({"text": text}) + "\n")
    settings = Tokenizer(vocab_size=VOCAB_SIZE)
    training.train(settings, islice(documents(10**9), 5_000), folder / "tokenizer")


def texts(folder: Path) -> Iterator[str]:
    """The documents on disk."""
    with (folder / "corpus.jsonl").open() as file:
        yield from (json.loads(line)["text"] for line in file)


def library_rate(folder: Path, threads: int, most: int, sentences: bool = False) -> float:
    """Tokens per second of the library, without the time of reading.

    Args:
        most: tokens after which to stop; 0: none.
        sentences: of each sentence by itself, not of documents.
    """
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    from tokenizers import Tokenizer as Library

    tokenizer = Library.from_file(str(folder / "tokenizer" / "tokenizer.json"))
    tokenizer.no_truncation()
    found, elapsed, stream = 0, 0.0, texts(folder)
    while (not most or found < most) and (batch := list(islice(stream, BATCH))):
        batch = [one for text in batch for one in paragraphs(text)] if sentences else batch
        begin = time.perf_counter()
        encoded = tokenizer.encode_batch_fast(batch, add_special_tokens=False)
        elapsed += time.perf_counter() - begin
        found += sum(map(len, encoded))
    return found / elapsed


def harness_run(folder: Path, threads: int, out: Path) -> tuple[float, float]:
    """Tokens per second of the harness, from the file to the streams, and the largest memory of its
    process in gigabytes."""
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    work = out / "work"
    work.mkdir(parents=True, exist_ok=True)
    corpus = JsonLinesCorpus(path=str(folder / "corpus.jsonl"))
    begin = time.perf_counter()
    counts = write_split(split_corpus(corpus), folder / "tokenizer", out, work)
    elapsed = time.perf_counter() - begin
    total = counts["train_tokens"] + counts["validation_tokens"]
    return total / elapsed, peak_memory()["peak_rss_bytes"] / 1e9


def killed(folder: Path, threads: int, out: Path, kills: int, seconds: float) -> int:
    """Tokenizes with kills, evenly spread over the seconds of one attempt; returns their number."""
    context, done = multiprocessing.get_context("spawn"), 0
    while True:
        attempt = context.Process(target=harness_run, args=(folder, threads, out))
        attempt.start()
        attempt.join(seconds / (kills + 1) if done < kills else None)
        if not attempt.is_alive():
            return done
        attempt.kill()
        attempt.join()
        done += 1


def same_files(one: Path, other: Path) -> bool:
    """Whether the streams of two folders are equal, byte by byte."""
    files = sorted(path.relative_to(one) for path in one.rglob("*.npy"))
    return bool(files) and all(
        np.array_equal(np.load(one / file, mmap_mode="r"), np.load(other / file, mmap_mode="r"))
        for file in files
    )


def batch_times(stream: TokenStream, vocabulary: Vocabulary) -> tuple[float, float]:
    """Seconds to the first batch of a stream, and of each later one."""
    phases = (Phase(fraction=1, sequence_length=128),)
    begin = time.perf_counter()
    maker = BatchMaker(
        stream, vocabulary, OBJECTIVES["mlm"], Packing(), phases, 32, 0, NUM_BATCHES + 1
    )
    maker.batch(0)
    first = time.perf_counter() - begin
    each = [common.seconds(partial(maker.batch, step)) for step in range(1, NUM_BATCHES + 1)]
    return first, statistics.median(each)


def beginning(stream: TokenStream) -> TokenStream:
    """The first BASELINE_TOKENS of a stream, in whole documents."""
    sentence = int(np.searchsorted(stream.sentences, BASELINE_TOKENS))
    number = int(np.searchsorted(stream.documents, sentence))
    edges = stream.documents[: number + 1]
    return TokenStream(stream.tokens, stream.sentences[: edges[-1] + 1], edges)


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All figures."""
    prepared = folder / "tokens.txt"
    if not prepared.exists() or int(prepared.read_text()) != arguments.tokens:
        prepare(folder, arguments.tokens)
        prepared.write_text(str(arguments.tokens))
    threads, most, gigabytes = arguments.threads, arguments.library_tokens, []

    def harness() -> float:
        shutil.rmtree(folder / "whole", ignore_errors=True)
        rate, memory = common.in_new_process(harness_run, folder, threads, folder / "whole")
        gigabytes.append(memory)
        return rate

    systems: dict[str, Callable[[], float]] = {
        "library": partial(common.in_new_process, library_rate, folder, threads, most),
        "sentences": partial(common.in_new_process, library_rate, folder, threads, most, True),
        "harness": harness,
    }
    rates = common.measure_in_turns(systems, arguments.repeats)
    shutil.rmtree(folder / "killed", ignore_errors=True)
    stream = TokenStream.open(folder / "whole" / "train")
    seconds = stream.num_tokens / statistics.median(rates["harness"])
    kills = killed(folder, threads, folder / "killed", arguments.kills, seconds)
    vocabulary = Vocabulary.load(folder / "tokenizer")
    first, each = batch_times(stream, vocabulary)
    _, baseline = batch_times(beginning(stream), vocabulary)
    return {
        "settings": common.settings(arguments),
        "machine": common.machine("tokenizers"),
        "text_gigabytes": round((folder / "corpus.jsonl").stat().st_size / 1e9, 3),
        "stream_tokens": stream.num_tokens,
        "tokens_per_second": {name: [round(x) for x in found] for name, found in rates.items()},
        "harness_over_library": round(common.median_ratio(rates, "harness", "library"), 3),
        "harness_over_sentences": round(common.median_ratio(rates, "harness", "sentences"), 3),
        "peak_memory_gigabytes": round(max(gigabytes), 2),
        "kills": kills,
        "equal_after_kills": same_files(folder / "whole", folder / "killed"),
        "seconds_to_first_batch": round(first, 2),
        "milliseconds_per_batch": round(1e3 * each, 2),
        "milliseconds_per_batch_of_a_small_text": round(1e3 * baseline, 2),
    }


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    chosen, rates = figures["settings"], figures["tokens_per_second"]
    equal = "equal" if figures["equal_after_kills"] else "NOT equal"
    rows = [
        ["library, tokens/s", f"{statistics.median(rates['library']):,.0f}"],
        ["library, by sentences, tokens/s", f"{statistics.median(rates['sentences']):,.0f}"],
        ["harness, tokens/s", f"{statistics.median(rates['harness']):,.0f}"],
        ["harness / library", f"{figures['harness_over_library']}"],
        ["harness / library by sentences", f"{figures['harness_over_sentences']}"],
        ["peak memory, GB", f"{figures['peak_memory_gigabytes']}"],
        [f"streams after {figures['kills']} kills", equal],
        ["seconds to the first batch", f"{figures['seconds_to_first_batch']}"],
        ["ms per batch", f"{figures['milliseconds_per_batch']}"],
        ["ms per batch of 1M tokens", f"{figures['milliseconds_per_batch_of_a_small_text']}"],
    ]
    setting = (
        f"A generated corpus of {figures['text_gigabytes']} GB, {figures['stream_tokens']:,} "
        f"training tokens, WordPiece with {VOCAB_SIZE:,} entries; "
        f"{figures['machine']['processor']}, {chosen['threads']} threads, median of "
        f"{chosen['repeats']}; the ratio is paired within repeats."
    )
    return common.markdown(__file__, "Tokenization", setting, ["", "value"], rows)


def main() -> None:
    """Measures and writes the figures."""
    arguments = common.parse_arguments(
        __doc__,
        "tokenization",
        tokens=20_000_000,
        repeats=5,
        kills=5,
        threads=2,
        library_tokens=0,
        folder="",
    )
    if arguments.folder:
        Path(arguments.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        figures = measure(arguments, Path(arguments.folder or temporary))
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
