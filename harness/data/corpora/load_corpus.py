"""Reading the documents of a corpus as lists of sentences, and the fingerprint of its text."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from harness.data import hub, python_stdlib
from harness.data.corpora.local_files import check_length, corpus_files, lines
from harness.data.corpora.sentence_splitter import split_sentences
from harness.data.corpora.sources import (
    Corpus,
    HubCorpus,
    JsonLinesCorpus,
    MicroworldCorpus,
    MixedCorpus,
    ParquetCorpus,
    SingleCorpus,
    StdlibCorpus,
    TextCorpus,
    has_field_order,
)
from harness.data.corpora.steps import cleaned
from harness.data.corpora.steps.step import EvaluationTexts, no_evaluation_texts, words_of
from harness.data.corpora.wikitext import WIKITEXT, wikitext_articles
from harness.data.digests import digest

ROWS = 1000
"""Rows of a table that are read at once."""
Record = tuple[Any, str]
"""The value that a document is sorted by, null for none, and its text."""


def read_documents(
    corpus: SingleCorpus, evaluation: EvaluationTexts = no_evaluation_texts
) -> Iterator[list[str]]:
    """The documents of `corpus` in order, after its cleaning steps and without empty ones.

    Args:
        evaluation: name of a suite to the texts that a step removes.

    Yields:
        A document as a list of sentences.

    Raises:
        ValueError: the text is missing, or not in the declared format.
    """
    documents = cleaned(corpus.steps or (), filter(None, _documents(corpus)), evaluation)
    if corpus.sort_by == "num_words":
        documents = sorted(documents, key=lambda document: len(words_of(document)))
    yield from _first_bytes(islice(documents, corpus.max_documents), corpus.max_bytes)


def _first_bytes(documents: Iterable[list[str]], limit: int | None) -> Iterator[list[str]]:
    """Documents until they have `limit` bytes, to a document."""
    size = 0
    for document in documents:
        yield document
        size += sum(len(sentence.encode()) for sentence in document) if limit else 0
        if limit and size >= limit:
            return


def fingerprint(corpus: Corpus) -> str:
    """A string that identifies the text of `corpus`, computed without reading it.

    It has the digest of the files, the pinned commit of the Hub repository, or the seeds and sizes
    of the micro-world; of the standard library, Python's version, too; of a mixture, those of its
    sources.

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
    if isinstance(corpus, StdlibCorpus):
        return python_stdlib.fingerprint()
    return digest(corpus_files(corpus))


def _documents(corpus: SingleCorpus) -> Iterator[list[str]]:
    if isinstance(corpus, MicroworldCorpus):
        return _microworld(corpus)
    if isinstance(corpus, TextCorpus):
        return _text_documents(corpus)
    if isinstance(corpus, StdlibCorpus):
        return map(paragraphs, map(python_stdlib.source, corpus_files(corpus)))
    texts = (text for _, text in _in_order(corpus, RECORDS[type(corpus)](corpus)))
    if isinstance(corpus, HubCorpus) and corpus.path == WIKITEXT:
        return wikitext_articles(texts)
    return map(paragraphs, texts)


def _in_order(corpus: SingleCorpus, records: Iterator[Record]) -> Iterable[Record]:
    """Records in ascending order of a field, in memory, if the corpus has one."""
    if not has_field_order(corpus):
        return records
    try:
        return sorted(records, key=lambda record: record[0])
    except TypeError as error:
        raise ValueError(
            f"corpus.sort_by must be a field of numbers or of text alone, but {corpus.sort_by!r} "
            f"is not: {error}"
        ) from error


def _microworld(corpus: MicroworldCorpus) -> Iterator[list[str]]:
    from harness.data.microworld.documents import documents
    from harness.data.microworld.domains import domain_documents

    if corpus.domain is None:
        return documents(corpus.seed, corpus.world, corpus.num_tokens)
    return domain_documents(corpus.domain, corpus.seed, corpus.world, corpus.num_tokens)


def paragraphs(text: str) -> list[str]:
    """The sentences of a text whose lines are paragraphs."""
    return [sentence for line in text.splitlines() for sentence in split_sentences(line)]


def _hub_records(corpus: HubCorpus) -> Iterator[Record]:
    found = (corpus.path, corpus.config, corpus.split, corpus.revision)
    if corpus.streaming:
        return _table_records(corpus, hub.stream(*found, corpus.shuffle_seed), corpus.path)
    dataset = hub.load(*found)
    fields = [corpus.text_field, *([corpus.sort_by] if has_field_order(corpus) else [])]
    for field in fields:
        if field not in dataset.column_names:
            raise ValueError(
                f"corpus.{'text_field' if field == corpus.text_field else 'sort_by'} must be a "
                f"column of {corpus.path}, but is {field!r}: it has "
                f"{', '.join(dataset.column_names)}"
            )
    batches = dataset.select_columns(fields).iter(ROWS)
    rows = (
        dict(zip(batch, row, strict=True))
        for batch in batches
        for row in zip(*batch.values(), strict=True)
    )
    return _table_records(corpus, rows, corpus.path)


def _parquet_records(corpus: ParquetCorpus) -> Iterator[Record]:
    import pyarrow as pa
    from pyarrow import parquet

    for file in corpus_files(corpus):
        try:
            with parquet.ParquetFile(file) as table:
                parts = table.iter_batches(ROWS, columns=_columns(corpus, table.schema_arrow.names))
                rows = (row for part in parts for row in part.to_pylist())
                yield from _table_records(corpus, rows, str(file))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = hub.one_line(error)
            raise ValueError(f"{file} must be a readable parquet file, but {reason}") from error


def _columns(corpus: ParquetCorpus, names: list[str]) -> list[str] | None:
    """The columns to read: values of others may be none of Python's, such as dates beyond its last
    year. Null, all, if one is missing, which a message then says."""
    wanted = [corpus.text_field, *([str(corpus.sort_by)] if has_field_order(corpus) else [])]
    return wanted if set(wanted) <= set(names) else None


def _table_records(
    corpus: HubCorpus | ParquetCorpus, rows: Iterator[dict[str, Any]], where: str
) -> Iterator[Record]:
    for number, row in enumerate(rows, start=1):
        if row.get(corpus.text_field, "") is not None:  # null is an empty text
            yield _record(corpus, row, f"{where}, row {number}")


def _json_records(corpus: JsonLinesCorpus) -> Iterator[Record]:
    for file in corpus_files(corpus):
        for number, line in enumerate(lines(file), start=1):
            if not line.strip():
                continue
            where = f"{file}:{number}"
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:  # ValueError: a number of 5,000 digits
                raise ValueError(
                    f"{where}: every line must be a JSON object, but {error}"
                ) from error
            yield _record(corpus, row, where)


def _record(corpus: HubCorpus | ParquetCorpus | JsonLinesCorpus, row: Any, where: str) -> Record:
    """The text of a row, and the value that it is sorted by."""
    text = row.get(corpus.text_field) if isinstance(row, dict) else None
    if not isinstance(text, str):
        raise ValueError(
            f"{where}: every document must be an object with text in {corpus.text_field!r} "
            f"(corpus.text_field), but it has {_given(row, corpus.text_field)}"
        )
    check_length(len(text), where)
    _check_characters(text, where)
    if not has_field_order(corpus):
        return None, text
    value = row.get(corpus.sort_by)
    if value is None or _is_nan(value):  # beside NaN, sorting leaves numbers in any order
        raise ValueError(
            f"{where}: every document must have a value of {corpus.sort_by!r} (corpus.sort_by), "
            f"but it has {_given(row, str(corpus.sort_by))}"
        )
    return value, text


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _given(row: Any, field: str) -> str:
    """What a row has in place of a value of `field`: of what type, or which other fields."""
    if not isinstance(row, dict):
        return type(row).__name__
    if field not in row:
        return ", ".join(row)
    value = row[field]
    kind = "null" if value is None else "NaN" if _is_nan(value) else type(value).__name__
    return f"{kind} there"


def _check_characters(text: str, where: str) -> None:
    """Refuses text that UTF-8 cannot hold: JSON may escape one half of a character alone.

    Raises:
        ValueError: it has a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{where}: every text must be Unicode, but has half of a character, "
            f"\\u{ord(text[error.start]):x}, at character {error.start + 1}; remove it"
        ) from error


RECORDS: dict[type[Any], Callable[[Any], Iterator[Record]]] = {
    HubCorpus: _hub_records,
    ParquetCorpus: _parquet_records,
    JsonLinesCorpus: _json_records,
}
"""Sources whose documents are rows with fields."""


def parts(corpus: TextCorpus | JsonLinesCorpus | ParquetCorpus) -> Iterator[object]:
    """What files consist of: lines, or the records of rows, in the order of the files.

    Raises:
        ValueError: a file is missing, or not in the declared format.
    """
    if isinstance(corpus, TextCorpus):
        return chain.from_iterable(map(lines, corpus_files(corpus)))
    return RECORDS[type(corpus)](corpus)


def _text_documents(corpus: TextCorpus) -> Iterator[list[str]]:
    """Documents separated by blank lines; their lines are joined, because plain text is often
    wrapped."""
    for file in corpus_files(corpus):
        document: list[str] = []
        size = 0
        for line in lines(file):
            if line.strip():
                document.append(line)
                size += len(line)
                check_length(size, str(file))
            elif document:
                yield split_sentences(" ".join(document))
                document, size = [], 0
        yield split_sentences(" ".join(document))
