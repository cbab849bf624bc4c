"""The files of CoNLL-2012 (`*_gold_conll`; Pradhan et al. 2012): OntoNotes 5.0, of the
Linguistic Data Consortium (LDC2013T19).

Rows have the columns of the Hub's `ontonotes/conll2012_ontonotesv5` that tasks read.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SUFFIX = "_gold_conll"
FOLDERS = {"train": ("train",), "validation": ("development", "dev"), "test": ("test",)}
"""Split to its names in paths, as in `v4/data/development/.../cctv_0000.v4_gold_conll` or
`dev.english.v4_gold_conll`."""
OTHER_LANGUAGES = {"arabic", "chinese"}
"""Languages of the shared task that no task here reads, as they stand in paths beside `english`."""
BEGIN, COMMENT = re.compile(r"#begin document \((.*)\); part (\d+)"), "#"
WORD, FIRST_FRAME, FEWEST = 3, 11, 12
"""Columns of the word and of the first predicate's arguments; columns of a line without predicates.
The last column has the mentions."""
MENTION = re.compile(r"(\()?(\d+)(\))?")


def files_in(folder: Path) -> list[Path]:
    """All files of the format, in the order of their paths."""
    return sorted(folder.glob(f"**/*{SUFFIX}"))


def rows(folder: Path, split: str) -> list[dict[str, Any]]:
    """`document_id` and `sentences` of the English documents of a split.

    Raises:
        ValueError: no such split, a document twice, or lines in another format.
    """
    names = FOLDERS.get(split, ())
    parts_of = {
        file: set(re.split(r"[/.]", file.relative_to(folder).as_posix()))
        for file in files_in(folder)
    }
    chosen = [
        file
        for file, found in parts_of.items()
        if found.intersection(names) and found.isdisjoint(OTHER_LANGUAGES)
    ]
    if not chosen:
        raise ValueError(
            f"no English file {' or '.join(f'*{name}*' for name in names)} of the format *{SUFFIX}"
            if names
            else f"the splits are {', '.join(FOLDERS)}"
        )
    documents: dict[str, list[dict[str, Any]]] = {}
    parts: set[tuple[str, int]] = set()
    for file in chosen:
        for name, part, sentences in _parts(file):
            if (name, part) in parts:
                raise ValueError(f"{file} has part {part} of {name}, which another file has, too")
            parts.add((name, part))
            documents.setdefault(name, []).extend(sentences)
    return [{"document_id": name, "sentences": found} for name, found in documents.items()]


def _parts(file: Path) -> Iterator[tuple[str, int, list[dict[str, Any]]]]:
    """Document, number of the part, and sentences of each part of a file."""
    name, part = "", 0
    sentences: list[dict[str, Any]] = []
    lines: list[list[str]] = []
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if begun := BEGIN.match(text):
            if name:
                yield name, part, sentences
            name, part, sentences = begun[1], int(begun[2]), []
        elif text.strip() and not text.startswith(COMMENT):
            lines.append(_columns(text, lines, f"{file}, line {number}"))
            continue
        if lines:
            sentences.append(_sentence(lines, part))
            lines = []
    if lines:
        sentences.append(_sentence(lines, part))
    if name:
        yield name, part, sentences


def _columns(text: str, before: Sequence[Sequence[str]], where: str) -> list[str]:
    found = text.split()
    wanted = len(before[0]) if before else max(FEWEST, len(found))
    if len(found) != wanted:
        raise ValueError(f"{where}: needs {wanted} columns, but has {len(found)}")
    return found


def _sentence(lines: Sequence[Sequence[str]], part: int) -> dict[str, Any]:
    words = [line[WORD] for line in lines]
    columns = list(zip(*lines, strict=True))
    frames = [_frame(words, column) for column in columns[FIRST_FRAME:-1]]
    mentions = _mentions(columns[-1])
    return {"part_id": part, "words": words, "srl_frames": frames, "coref_spans": mentions}


def _frame(words: Sequence[str], column: Sequence[str]) -> dict[str, Any]:
    """The predicate and the IOB2 tags of a column such as `(ARG0*`, `*)`, `(V*)`, `*`."""
    tags, label = [], ""
    for cell in column:
        if "(" in cell:
            label = cell.strip("()*")
            tags.append(f"B-{label}")
        else:
            tags.append(f"I-{label}" if label else "O")
        if ")" in cell:
            label = ""
    verbs = (word for word, tag in zip(words, tags, strict=True) if tag == "B-V")
    return {"verb": next(verbs, ""), "frames": tags}


def _mentions(column: Sequence[str]) -> list[list[int]]:
    """Cluster, first and last word of each mention of a column such as `(12|(3)`, `12)`, `-`."""
    found: list[list[int]] = []
    open_: dict[str, list[int]] = {}
    for place, cell in enumerate(column):
        for begins, cluster, ends in MENTION.findall(cell):
            if begins:
                open_.setdefault(cluster, []).append(place)
            if ends:
                found.append([int(cluster), open_[cluster].pop(), place])
    return sorted(found, key=lambda mention: mention[1:])
