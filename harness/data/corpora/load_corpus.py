"""Reading the documents of a corpus as lists of sentences, and the fingerprint of its text."""

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise
from pathlib import Path

from harness.core.files import searched_from
from harness.data import hub
from harness.data.corpora.sentence_splitter import split_sentences
from harness.data.corpora.sources import (
    Corpus,
    HubCorpus,
    JsonLinesCorpus,
    MicroworldCorpus,
    MixedCorpus,
    SingleCorpus,
    TextCorpus,
)
from harness.data.corpora.steps import cleaned

TABLES = (".csv", ".tsv", ".parquet", ".xlsx")
"""Suffixes of files that are no text."""
WIKITEXT = "Salesforce/wikitext"
"""The data set whose rows are lines; a row of any other Hub data set is a document."""
_HEADING = re.compile(r"=((?: =)*) (.*?)((?: =)*) =")
_ESCAPES = ((" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."))
"""WikiText's escapes of marks in words and numbers (Merity et al. 2017, section 4.3)."""


def read_documents(corpus: SingleCorpus) -> Iterator[list[str]]:
    """The documents of `corpus` in order, after its cleaning steps and without empty ones.

    Yields:
        A document as a list of sentences.

    Raises:
        ValueError: the text is missing, or not in the declared format.
    """
    documents = cleaned(corpus.steps or (), filter(None, _documents(corpus)))
    yield from islice(documents, corpus.max_documents)


def fingerprint(corpus: Corpus) -> str:
    """A string that identifies the text of `corpus`, computed without reading it.

    It has the digest of the files, the pinned commit of the Hub repository, or the seeds and sizes
    of the micro-world; of a mixture, those of its sources.

    Raises:
        ValueError: the files are missing.
    """
    if isinstance(corpus, MixedCorpus):
        return " ".join(f"{name}={fingerprint(one)}" for name, one in corpus.sources.items())
    if isinstance(corpus, MicroworldCorpus):
        from harness.data import microworld

        domain = f"/domain={corpus.domain}" if corpus.domain else ""
        return (
            f"microworld:{microworld.VERSION}/world={corpus.world}/seed={corpus.seed}"
            f"/num_tokens={corpus.num_tokens}{domain}"
        )
    if isinstance(corpus, HubCorpus):
        return f"{hub.fingerprint(corpus.path, corpus.config, corpus.revision)}/{corpus.split}"
    return hub.digest(corpus_files(corpus))


def corpus_files(corpus: TextCorpus | JsonLinesCorpus) -> list[Path]:
    """The files of a local corpus, sorted.

    Raises:
        ValueError: no files, or tables in place of text.
    """
    suffix = ".txt" if isinstance(corpus, TextCorpus) else ".jsonl"
    path = Path(corpus.path).expanduser()
    if path.is_file():
        _check_suffix(path, corpus.source)
        return [path]
    if path.is_dir():
        found = [f for f in path.rglob("*") if f.name.endswith((suffix, suffix + ".gz"))]
    else:
        anchor = Path(path.anchor)
        found = list(anchor.glob(str(path.relative_to(anchor))))
    files = sorted(file for file in found if file.is_file())
    if not files:
        raise ValueError(
            f"corpus.path must name a {suffix} or {suffix}.gz file, a folder of them or a glob "
            f"pattern, but {corpus.path!r} matches no file{searched_from(path)}"
        )
    for file in files:
        _check_suffix(file, corpus.source)
    return files


def _check_suffix(file: Path, source: str) -> None:
    """Refuses a file in a format whose marks would be read as text.

    Raises:
        ValueError: it is a table, or JSON lines given as text.
    """
    suffix = Path(file.name.lower().removesuffix(".gz")).suffix
    if suffix in TABLES:
        raise ValueError(
            f"corpus.path must name text or JSON lines, but {file} is a table; write its texts to "
            'a .jsonl file, {"text": ...} in each line, and set corpus.source to jsonl'
        )
    if source == "text" and suffix in (".jsonl", ".json"):
        raise ValueError(
            f"corpus.path must name plain text, but {file} holds JSON; set corpus.source to jsonl"
        )


def corpus_bytes(corpus: TextCorpus | JsonLinesCorpus) -> int:
    """Size of the text of a local corpus, compressed files as if they held three times as much.

    Raises:
        ValueError: no files.
    """
    return sum((3 if f.suffix == ".gz" else 1) * f.stat().st_size for f in corpus_files(corpus))


def _documents(corpus: SingleCorpus) -> Iterator[list[str]]:
    if isinstance(corpus, MicroworldCorpus):
        return _microworld(corpus)
    if isinstance(corpus, HubCorpus):
        texts = _hub_texts(corpus)
        if corpus.path == WIKITEXT:
            return wikitext_articles(texts)
        return map(paragraphs, texts)
    if isinstance(corpus, JsonLinesCorpus):
        return map(paragraphs, _json_texts(corpus))
    return _text_documents(corpus)


def _microworld(corpus: MicroworldCorpus) -> Iterator[list[str]]:
    from harness.data.microworld.documents import documents
    from harness.data.microworld.domains import domain_documents

    if corpus.domain is None:
        return documents(corpus.seed, corpus.world, corpus.num_tokens)
    return domain_documents(corpus.domain, corpus.seed, corpus.world, corpus.num_tokens)


def paragraphs(text: str) -> list[str]:
    """The sentences of a text whose lines are paragraphs."""
    return [sentence for line in text.splitlines() for sentence in split_sentences(line)]


def wikitext_articles(lines: Iterable[str]) -> Iterator[list[str]]:
    """The articles of WikiText, which start with ` = Title = ` between blank lines.

    Headings of all levels become sentences without their marks. `<unk>`, which replaces rare words,
    remains as text.

    Args:
        lines: the rows of the data set.
    """
    article: list[str] = []
    before = ""
    for line, after in pairwise(chain(lines, ("",))):
        line = _unescape(line.strip())
        # Tables have lines like " = Played , W = " between other lines.
        heading = None if before or after.strip() else _HEADING.fullmatch(line)
        if heading is None:
            article += split_sentences(line)
        else:
            if heading[1] == heading[3] == "":
                yield article
                article = []
            article.append(heading[2])
        before = line
    yield article


def _unescape(line: str) -> str:
    for escaped, mark in _ESCAPES:
        line = line.replace(escaped, mark)
    return line


def _hub_texts(corpus: HubCorpus) -> Iterator[str]:
    dataset = hub.load(corpus.path, corpus.config, corpus.split, corpus.revision)
    if corpus.text_field not in dataset.column_names:
        raise ValueError(
            f"corpus.text_field must be a column of {corpus.path}, but is {corpus.text_field!r}: "
            f"it has {', '.join(dataset.column_names)}"
        )
    for batch in dataset.select_columns([corpus.text_field]).iter(batch_size=1000):
        yield from batch[corpus.text_field]


def _json_texts(corpus: JsonLinesCorpus) -> Iterator[str]:
    for file in corpus_files(corpus):
        for number, line in enumerate(_lines(file), start=1):
            if line.strip():
                yield _json_text(line, corpus.text_field, f"{file}:{number}")


def _json_text(line: str, field: str, where: str) -> str:
    """The text of one JSON object."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{where}: every line must be a JSON object, but {error}") from error
    text = record.get(field) if isinstance(record, dict) else None
    if not isinstance(text, str):
        given = ", ".join(record) if isinstance(record, dict) else type(record).__name__
        raise ValueError(
            f"{where}: every line must be a JSON object with text in {field!r} "
            f"(corpus.text_field), but it has {given}"
        )
    return text


def _text_documents(corpus: TextCorpus) -> Iterator[list[str]]:
    """Documents separated by blank lines; their lines are joined, because plain text is often
    wrapped."""
    for file in corpus_files(corpus):
        document: list[str] = []
        for line in _lines(file):
            if line.strip():
                document.append(line)
            elif document:
                yield split_sentences(" ".join(document))
                document = []
        yield split_sentences(" ".join(document))


def _lines(file: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, decompressed if its name ends in .gz."""
    opener = gzip.open if file.suffix == ".gz" else open
    try:
        with opener(file, "rt", encoding="utf-8-sig", newline="\n") as stream:
            yield from stream
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError) as error:
        kind = "gzip and UTF-8" if file.suffix == ".gz" else "UTF-8"
        raise ValueError(f"{file} must be {kind} text, but {error}") from error
