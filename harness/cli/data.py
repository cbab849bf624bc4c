"""`harness data`: data sets from the Hub, and the text that pretraining reads."""

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion, options
from harness.core.counting import number_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from rich.text import Text

    from harness.data.corpora.mixing import Document
    from harness.data.corpora.statistics import CorpusStatistics
    from harness.pretraining.objectives.shown_batch import ShownRow, Token

app = typer.Typer(help="Data sets: list, fetch, verify; text: stats, show.", no_args_is_help=True)
SHOWN_LANGUAGES = 3
STYLES = {"plain": "", "special": "dim", "chosen": "bold green", "changed": "bold red"}
"""Role of a token to its style."""
DataNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME", help="data sets (glue/cola, nyu-mll/glue), or tasks, probes, corpora"
    ),
]
SuiteName = Annotated[str | None, typer.Option(help="data sets of the tasks of a suite")]
FetchFolder = Annotated[
    Path | None, typer.Option("--to", envvar="HARNESS_DATA", help="folder [default: data]")
]


@app.command(name="list")
def list_() -> None:
    """Lists data sets. Each has a location, size, commit, licence and the tasks that use it."""
    from harness.tasks.datasets.catalog import rows

    for name, used_by, licence, where, size, commit in rows():
        line = f"{name:36} {where:9} {size:>12}  {commit:12}  {used_by} ({licence})"
        options.out.print(line)


@app.command(name="fetch")
def fetch_command(
    names: DataNames = None,
    suite: SuiteName = None,
    to: FetchFolder = None,
    large: Annotated[bool, typer.Option("--large", help="also corpora of more than 10 GB")] = False,
) -> None:
    """Downloads data sets to a folder for HARNESS_DATA. Commits are pinned, and checksums
    written."""
    from harness.tasks.datasets import fetch
    from harness.tasks.datasets.catalog import to_fetch

    with options.clear_errors():
        sets = to_fetch(names or (), suite, large)
    folder = to or fetch.DEFAULT_FOLDER
    checks = ((name, "fetched", problem) for name, problem in fetch.fetch(sets, folder))
    problems = sum(_reported(*check) for check in checks)
    if folder.is_dir():
        options.out.print(f"to use this folder, set HARNESS_DATA={folder}")
    _exit_on(problems)


@app.command(name="verify")
def verify_command(names: DataNames = None, suite: SuiteName = None) -> None:
    """Verifies checksums, columns, labels and numbers of rows. Default: all local data sets."""
    from harness.tasks.datasets import verify
    from harness.tasks.datasets.catalog import to_verify

    with options.clear_errors():
        sets = to_verify(names or (), suite)
    problems = sum(_reported(*check) for check in verify.verify(sets))
    options.out.print(f"{number_of(len(sets), 'data set')}, {number_of(problems, 'problem')}")
    _exit_on(problems)


@app.command(name="stats")
def stats_command(
    corpus: Annotated[
        str,
        typer.Argument(
            help="corpus (harness list corpora); file, folder or pattern of text, JSON lines or "
            "parquet; - for standard input; or experiment, for the corpora of its arms"
        ),
    ],
    suite: Annotated[
        str | None,
        typer.Option(help="count documents with evaluation text of a suite, and its known words"),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="draw the lengths of documents")
    ] = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
) -> None:
    """Counts documents, words, languages and duplicates. Each source has a row; with --suite, its
    texts are searched in the corpus, too."""
    from rich.progress import track

    from harness.core.files import write_atomically
    from harness.data.corpora.statistics import word_counts
    from harness.experiment.corpus_statistics import (
        PretrainingText,
        corpora_of,
        corpus_statistics,
    )
    from harness.experiment.samples import named_corpus
    from harness.plan.factory import load_plan
    from harness.tasks.evaluation_texts import evaluation_texts

    def tracked(documents: "Iterable[Document]") -> "Iterable[Document]":
        return track(documents, "documents", console=options.err, transient=True, total=None)

    with options.clear_errors(), saved_input(corpus) as name:
        is_experiment = _is_experiment(name)
        given = is_experiment or not (set_ or variant)
        options.require(given, f"--set and --variant are of experiments, but {corpus} is a corpus")
        if svg:
            options.make_folder_of(svg, "--svg")
        corpora = (
            corpora_of(load_plan(Path(name), set_ or (), variant or ()).arms)
            if is_experiment
            else {corpus: PretrainingText(named_corpus(name))}
        )
        found = corpus_statistics(corpora, suite, tracked)
        words = word_counts(evaluation_texts(suite)) if suite else None
        head = ["corpus", "documents", "held out", "sentences", "words", "distinct words", "MB"]
        head += ["words of a document (median, 95 %)", "languages", "duplicates", "read again"]
        head += [f"with text of {suite}", f"known words of {suite}"] if suite else []
        options.print_table(head, [_cells(*one, words) for one in found.items()], right=1)
        if svg:
            from harness.report.figures.corpus import lengths

            write_atomically(svg, lengths(found))


def _is_experiment(name: str) -> bool:
    """Whether a name is that of an experiment; corpora and files of text come first."""
    from harness.core.files import user_path
    from harness.core.shipped import shipped_experiments
    from harness.data.corpora import CORPORA

    is_text = name in CORPORA or user_path(name).exists()
    is_shipped = name in shipped_experiments() and not is_text
    return is_shipped or Path(name).suffix in (".yaml", ".yml")


@contextmanager
def saved_input(name: str) -> "Iterator[str]":
    """The path of a file with standard input for the name `-`; else the name."""
    if name != "-":
        yield name
        return
    with TemporaryDirectory(prefix="harness-input-") as folder:
        path = Path(folder) / "input"
        with path.open("wb") as file:
            copyfileobj(sys.stdin.buffer, file)
        with path.open("rb") as file:
            is_json = file.read(1) == b"{"
        yield str(path.rename(path.with_suffix(".jsonl" if is_json else ".txt")))


def _cells(name: str, one: "CorpusStatistics", words: "Counter[str] | None") -> list[str]:
    """A row of `stats`.

    Args:
        words: of the evaluation texts of a suite; null: of none.
    """
    import numpy as np

    number = len(one.lengths)
    counts = [number, one.num_held_out, one.num_sentences, one.num_words, len(one.words)]
    median, high = np.quantile(one.lengths, (0.5, 0.95))
    shares = [one.num_duplicates, one.num_repeated]
    shares += [one.num_overlapping] if words is not None else []
    languages = one.languages.most_common(SHOWN_LANGUAGES)
    return [
        name,
        *(f"{count:,}" for count in counts),
        f"{one.num_bytes / 1e6:,.2f}",
        f"{median:,.0f}, {high:,.0f}",
        ", ".join(f"{language} {100 * share / number:.3g} %" for language, share in languages),
        *(f"{share:,} ({100 * share / number:.2g} %)" for share in shares),
        *([f"{100 * one.coverage(words):.1f} %"] if words is not None else []),
    ]


@app.command(name="show")
def show_command(
    experiment: options.Experiment,
    arm: Annotated[
        str | None,
        typer.Option(help="arm [default: the first that trains]", autocompletion=completion.arms),
    ] = None,
    step: Annotated[int, typer.Option(min=0, help="update, from 0")] = 0,
    rows: Annotated[int, typer.Option(min=1, help="sequences to print")] = 5,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="also draw what is printed")
    ] = None,
    set_: options.Overrides = None,
    variant: options.Variants = None,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Prints what a network reads and predicts at an update."""
    from rich.text import Text

    from harness.execution.show_batch import shown_batch
    from harness.plan.factory import load_plan
    from harness.store.store import Store, existing_store

    with options.clear_errors():
        plan = load_plan(experiment, set_ or (), variant or ())
        if svg:
            options.make_folder_of(svg, "--svg")
        is_remote = "MLFLOW_TRACKING_URI" in os.environ
        results = Store(store) if is_remote else existing_store(store)
        with options.err.status("") as status:

            def report(what: str) -> None:
                status.update(Text(what))

            name, found = shown_batch(plan, arm, step, results, report)
        lines = [Text(f"{name}, update {step:,}: {len(found)} sequences")]
        lines += [line for row in found[:rows] for line in _lines(row)]
        for line in lines:
            options.out.print(line)
        if svg:
            _draw(lines, svg)


def _lines(row: "ShownRow") -> "list[Text]":
    """The parts of a sequence."""
    from rich.text import Text

    lines = [Text(f"{name:8}", "dim") + _styled(tokens) for name, tokens in row.parts.items()]
    if row.pair is not None:
        lines.append(Text(f"{'pair':8}", "dim") + Text(str(row.pair)))
    return [*lines, Text("")]


def _styled(tokens: "list[Token]") -> "Text":
    from rich.text import Text

    return Text(" ").join(Text(one.text, STYLES[one.role]) for one in tokens)


def _draw(lines: "list[Text]", file: Path) -> None:
    from io import StringIO

    from rich.console import Console

    from harness.core.files import write_atomically

    console = Console(record=True, width=120, file=StringIO())
    for line in lines:
        console.print(line, highlight=False)
    write_atomically(file, console.export_svg(title="harness data show"))


def _reported(name: str, found: str, problem: str) -> bool:
    """Prints the status of a data set; returns whether there is a problem."""
    if problem:
        options.err.print(f"{name}: {problem}", style="red")
    else:
        options.out.print(f"{name}: {found}")
    return bool(problem)


def _exit_on(problems: int) -> None:
    if problems:
        raise typer.Exit(options.BAD_INPUT)
