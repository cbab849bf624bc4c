"""Preprocessors of annotated words: semantic roles, coreference, heads."""

from collections.abc import Mapping, Sequence
from typing import Any

Columns = Mapping[str, Sequence[Any]]
"""Columns of a data set, of equal length."""
OUTSIDE, PREDICATE = "O", "B-V"
"""Tags of words outside arguments, and of the predicate."""
ROOT, FAR = "root", ("far-left", "far-right")
"""Tags of the word without a head, and of words whose head is farther than FARTHEST."""
FARTHEST = 40
"""Longest distance to a head that has a tag of its own, in words."""
MARK = "*"
"""Before and after a word that an example is about, as in T5's WSC (Raffel et al. 2020)."""


def marked_predicate(columns: Columns) -> Columns:
    """`tokens` and `tags` from `words` and `roles`, with the word at index `predicate` between
    asterisks, which have the tag O: they mark whose arguments to find, as does the second
    segment of Shi and Lin (2019, section 3)."""
    rows = list(zip(columns["words"], columns["roles"], columns["predicate"], strict=True))
    return {
        **columns,
        "tokens": [_between(words, int(place), MARK) for words, _, place in rows],
        "tags": [_between(roles, int(place), OUTSIDE) for _, roles, place in rows],
    }


def ontonotes_roles(columns: Columns) -> Columns:
    """CoNLL-2012 with a row for each predicate of each sentence, as `marked_predicate` makes it.

    Frames without a tag B-V, which mark no predicate, are left out.
    """
    frames = [
        (sentence["words"], frame["frames"])
        for sentences in columns["sentences"]
        for sentence in sentences
        for frame in sentence["srl_frames"]
        if PREDICATE in frame["frames"]
    ]
    return marked_predicate(
        {
            "words": [words for words, _ in frames],
            "roles": [roles for _, roles in frames],
            "predicate": [roles.index(PREDICATE) for _, roles in frames],
        }
    )


def ontonotes_mentions(columns: Columns) -> Columns:
    """CoNLL-2012 with a row for each part of each document, which are scored one by one: its
    `sentences`, and its `mentions` with words counted from its start.

    Of mentions of the same words, the first one is kept.
    """
    texts: dict[tuple[str, int], list[str]] = {}
    mentions: dict[tuple[str, int], dict[tuple[int, int], list[int]]] = {}
    starts: dict[tuple[str, int], int] = {}
    for document, sentences in zip(columns["document_id"], columns["sentences"], strict=True):
        for sentence in sentences:
            part = document, int(sentence["part_id"])
            start = starts.get(part, 0)
            found = mentions.setdefault(part, {})
            for entity, first, last in sentence["coref_spans"]:
                found.setdefault(
                    (start + first, start + last), [entity, start + first, start + last]
                )
            texts.setdefault(part, []).append(" ".join(sentence["words"]))
            starts[part] = start + len(sentence["words"])
    return {
        "sentences": list(texts.values()),
        "mentions": [list(found.values()) for found in mentions.values()],
    }


def relative_heads(columns: Columns) -> Columns:
    """Universal Dependencies with the `heads` of `tokens` as distances, as HEAD_TAGS of
    `benchmarks/parsing.py` names them; without the rows of several words written as one ("1-2")."""
    rows = zip(columns["tokens"], columns["head"], strict=True)
    kept = [
        [(word, int(head)) for word, head in zip(words, heads, strict=True) if head.isdigit()]
        for words, heads in rows
    ]
    return {
        "tokens": [[word for word, _ in row] for row in kept],
        "heads": [
            [_distance(head - place) if head else ROOT for place, (_, head) in enumerate(row, 1)]
            for row in kept
        ],
    }


def _distance(words: int) -> str:
    """`-2`, `+1`; `far-left` and `far-right` beyond FARTHEST."""
    if abs(words) > FARTHEST:
        return FAR[words > 0]
    return f"{words:+d}"


def _between(items: Sequence[str], place: int, mark: str) -> list[str]:
    """`items` with `mark` before and after the one at `place`."""
    return [*items[:place], mark, items[place], mark, *items[place + 1 :]]
