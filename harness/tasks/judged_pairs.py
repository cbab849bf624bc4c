"""Documents, queries and graded judgements, as BEIR has them, as the pairs of a retrieval task."""

from collections.abc import Iterable, Sequence
from typing import Any

from harness.tasks.annotated_words import Columns

DOCUMENTS, QUERIES = "corpus", "queries"
"""Configs of the repository of a collection, each with one split of its own name."""
NOT_RANKED = -1
"""Grade of the document that a query is."""


def judged_pairs(documents: Columns, queries: Columns, judgements: Columns) -> Columns:
    """A row for each judgement with `query_id`, `query`, `document` and `relevance`; then, for the
    first query, one of grade 0 for each document that no judgement names, so that it is ranked.

    A document is its title and text, joined by a space (beir-cellar/beir, sentence_bert.py).
    Documents of equal text are one, with the highest of their grades: as two relevant ones in one
    place, they would raise nDCG above 1. A grade below 0 counts as 0. The document with the id of a
    query is not ranked for it (evaluation.py: `ignore_identical_ids`, for ArguAna). Ids of text and
    of digits are compared as text.

    Raises:
        ValueError: a judgement names a document or a query that does not exist.
    """
    texts = dict(zip(_ids(documents["_id"]), _texts(documents), strict=True))
    questions = dict(zip(_ids(queries["_id"]), queries["text"], strict=True))
    ids = _ids(judgements["query-id"]), _ids(judgements["corpus-id"])
    _check("document", ids[1], texts)
    _check("query", ids[0], questions)
    rows: dict[tuple[str, str], Any] = {}
    for query, document, grade in zip(*ids, judgements["score"], strict=True):
        pair = query, texts[document]
        rows[pair] = max(grade, rows.get(pair, 0))
    rows |= {(query, texts[query]): NOT_RANKED for query in ids[0] if query in texts}
    named = {text for _, text in rows}
    rows |= {(ids[0][0], text): 0 for text in texts.values() if text not in named} if rows else {}
    return {
        "query_id": [query for query, _ in rows],
        "query": [questions[query] for query, _ in rows],
        "document": [text for _, text in rows],
        "relevance": list(rows.values()),
    }


def _ids(values: Sequence[Any]) -> list[str]:
    return [str(value) for value in values]


def _texts(documents: Columns) -> list[str]:
    pairs = zip(documents["title"], documents["text"], strict=True)
    return [f"{title or ''} {text}".strip() for title, text in pairs]


def _check(kind: str, ids: Iterable[str], known: dict[str, Any]) -> None:
    if lost := [one for one in ids if one not in known]:
        raise ValueError(
            f"judgements must name what is in the collection, but the {kind} {lost[0]!r} is not"
        )
