"""Which columns are taken for the label and the texts, and which choices are refused."""

from typing import Any

import pytest

from harness.tasks.column_roles import Rows, label_column, text_columns

SIZE = 40


def column(name: str) -> list[Any]:
    """A column of the kind that its name says, up to a number."""
    kinds: dict[str, Any] = {
        "prose": lambda row: f"sentence number {row}",
        "id": lambda row: row,
        "hash": lambda row: f"a{row}",
        "few": lambda row: "xyz"[row % 3],
        "stars_as_number": lambda row: row % 5,
        "fractions": lambda row: row / 7,
        "constant": lambda row: 1,
        "lists": lambda row: [row],
    }
    return [kinds[name.rstrip("0123456789")](row) for row in range(SIZE)]


def rows(**columns: str) -> Rows:
    """Name of a column to its kind."""
    return {name: column(kind) for name, kind in columns.items()}


@pytest.mark.parametrize(
    ("table", "texts", "label"),
    [
        (rows(text="prose", label="few"), ["text"], "label"),
        (rows(id="id", Sentence="prose", LABEL="constant", lang="few"), ["Sentence"], "LABEL"),
        (rows(premise="prose", hypothesis="prose", gold_label="few"), None, "gold_label"),
        (rows(question="prose", context="prose", target="few"), ["question", "context"], "target"),
        (rows(question="prose", sentence="prose", label="few"), ["question", "sentence"], "label"),
        (rows(sentence_1="prose", sentence_2="prose", score="fractions"), None, "score"),
        (rows(title="prose", text="prose", label="few"), ["text"], "label"),
        (rows(id="id", hash="hash", remark="prose", verdict="few", lists="lists"), None, "verdict"),
        (rows(remark="prose", points="fractions", constant="constant"), ["remark"], "points"),
    ],
)
def test_columns_are_recognised(table: Rows, texts: list[str] | None, label: str) -> None:
    prose = [name for name in table if isinstance(table[name][0], str) and " " in table[name][0]]
    assert label_column(table) == label
    assert text_columns(table, [label]) == (texts or prose)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (rows(text="prose", label="few", score="fractions"), "may be label or score; set label_f"),
        (rows(text="prose", lang="few", verdict="few"), "may be lang or verdict; set label_field"),
        (rows(text="prose", id="id"), r"needs a column with labels, but none of text, id .*set la"),
    ],
)
def test_an_ambiguous_label_names_the_candidates(table: Rows, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        label_column(table)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (rows(text="prose", review="prose"), "the text may be text or review; set text_fields"),
        (rows(one="prose", two="prose"), "the text may be one or two; set text_fields"),
        (
            rows(text="prose", premise="prose", hypothesis="prose"),
            "the text may be premise and hypothesis or text; set text_fields",
        ),
        (rows(id="id", hash="hash", few="few"), "needs a column with texts, but none of id, hash,"),
    ],
)
def test_ambiguous_texts_name_the_candidates(table: Rows, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        text_columns(table, [])


def test_what_is_used_otherwise_is_no_candidate() -> None:
    table = rows(one="prose", two="prose", lang="few", verdict="few")
    assert label_column(table, ["lang"]) == "verdict"
    assert text_columns(table, ["verdict", "one"]) == ["two"]
