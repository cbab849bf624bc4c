"""Preprocessors: functions from the published columns of a data set to the columns of a task.

A preprocessor is a pure function of all columns of a split; it may add and drop rows.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.core.errors import MemberError
from harness.tasks.annotated_words import (
    Columns,
    marked_predicate,
    ontonotes_mentions,
    ontonotes_roles,
    relative_heads,
)

NOWHERE = -1
"""Start of an answer that does not occur in its passage."""


def copa(columns: Columns) -> Columns:
    """COPA with its question in words (Roemmele et al. 2011), and a list of choices."""
    words = {"cause": "What was the cause of this?", "effect": "What happened as a result?"}
    choices = list(zip(columns["choice1"], columns["choice2"], strict=True))
    return {**columns, "question": [words[q] for q in columns["question"]], "choices": choices}


def multirc(columns: Columns) -> Columns:
    """MultiRC with the question of each answer as `group`; questions are numbered by paragraph."""
    groups = [f"{idx['paragraph']}-{idx['question']}" for idx in columns["idx"]]
    return {**columns, "group": groups}


def record(columns: Columns) -> Columns:
    """ReCoRD with the correct entities as spans: all mentions, then names not in the passage."""
    pairs = zip(columns["passage"], columns["answers"], strict=True)
    return {**columns, "answers": [_mentions(passage, names) for passage, names in pairs]}


def rte_and_diagnostics(columns: Columns) -> Columns:
    """AX-b with the column names of RTE and AX-g, premise and hypothesis; AX-g with its minimal
    pairs, the examples 2k and 2k + 1, as `pair`."""
    if "sentence1" in columns:
        return {**columns, "premise": columns["sentence1"], "hypothesis": columns["sentence2"]}
    pairs = [number // 2 for number in columns.get("idx", ())]
    return {**columns, "pair": pairs} if pairs else columns


def wsc(columns: Columns) -> Columns:
    """WSC with the pronoun between asterisks in `marked`, as in T5 (Raffel et al. 2020)."""
    rows = zip(columns["text"], columns["span2_index"], columns["span2_text"], strict=True)
    return {**columns, "marked": [_marked(text, int(index), span) for text, index, span in rows]}


def relevant(columns: Columns) -> Columns:
    """Pairs of a question and its paragraph, or of a docstring and its function, with `relevance`
    1."""
    return {**columns, "relevance": [1.0] * len(next(iter(columns.values())))}


def code_to_text(columns: Columns) -> Columns:
    """CodeXGLUE's code-to-text with tokens as texts: its column `code` has the docstring, too (as
    in microsoft/CodeXGLUE, Code-Text/code-to-text/code/run.py)."""
    codes = [" ".join(" ".join(tokens).split()) for tokens in columns["code_tokens"]]
    texts = [" ".join(tokens).replace("\n", "") for tokens in columns["docstring_tokens"]]
    return {**columns, "code": codes, "docstring": [" ".join(text.split()) for text in texts]}


def function_choices(columns: Columns) -> Columns:
    """Docstrings with four functions as choices: the own one, and those a quarter, a half and three
    quarters of the rows away, which are mostly of other modules; its place goes round the four."""
    codes, num_rows = columns["code"], len(columns["code"])
    labels = [row % 4 for row in range(num_rows)]
    choices = [
        [codes[(row + (place - label) % 4 * num_rows // 4) % num_rows] for place in range(4)]
        for row, label in enumerate(labels)
    ]
    return {**columns, "choices": choices, "label": labels}


def swag(columns: Columns) -> Columns:
    """SWAG with its endings as a list of choices."""
    endings = zip(*(columns[f"ending{number}"] for number in range(4)), strict=True)
    return {**columns, "choices": list(endings)}


def openbookqa(columns: Columns) -> Columns:
    """OpenBookQA with its choices as texts and the index of the correct one, or -1."""
    pairs = zip(columns["choices"], columns["answerKey"], strict=True)
    labels = [_index(options["label"], key) for options, key in pairs]
    return {**columns, "choices": [o["text"] for o in columns["choices"]], "label": labels}


def mctest(columns: Columns) -> Columns:
    """MCTest with its options A to D as a list of choices, and the index of the correct one."""
    options = [[option[letter] for letter in "ABCD"] for option in columns["answer_options"]]
    labels = [_index("ABCD", answer) for answer in columns["answer"]]
    return {**columns, "choices": options, "label": labels}


def dream(columns: Columns) -> Columns:
    """DREAM with each dialogue as one text, and the index of the correct one of its choices."""
    pairs = zip(columns["choice"], columns["answer"], strict=True)
    return {
        **columns,
        "dialogue": [" ".join(turns) for turns in columns["dialogue"]],
        "choices": columns["choice"],
        "label": [_index(choices, answer) for choices, answer in pairs],
    }


def narrativeqa(columns: Columns) -> Columns:
    """NarrativeQA with texts of questions, summaries and answers (the summary setting)."""
    return {
        "summary": [document["summary"]["text"] for document in columns["document"]],
        "question": [question["text"] for question in columns["question"]],
        "answers": [[answer["text"] for answer in answers] for answers in columns["answers"]],
    }


def languages(columns: Columns) -> Columns:
    """WMT with a column for each language of `translation`."""
    pairs = columns["translation"]
    names = pairs[0] if pairs else ()
    return {**columns, **{name: [pair[name] for pair in pairs] for name in names}}


def drop_unlabelled(columns: Columns) -> Columns:
    """SNLI without the pairs that have no agreed label (-1)."""
    kept = [row for row, label in enumerate(columns["label"]) if label != -1]
    return {name: [values[row] for row in kept] for name, values in columns.items()}


def lower_labels(columns: Columns) -> Columns:
    """PubMed RCT with class names in lower case, in which its copies differ."""
    return {**columns, "label": [label.lower() for label in columns["label"]]}


def binary_nli(columns: Columns) -> Columns:
    """MNLI or HANS with two classes: neutral and contradiction become 1.

    `overlap` is `full` if all words of the hypothesis are in the premise, the cue that HANS
    controls for (McCoy et al. 2019).
    """
    pairs = zip(columns["premise"], columns["hypothesis"], strict=True)
    overlap = ["full" if _words(second) <= _words(first) else "part" for first, second in pairs]
    return {**columns, "label": [min(int(v), 1) for v in columns["label"]], "overlap": overlap}


def sts_subsets(columns: Columns) -> Columns:
    """STS with the subset of each pair.

    If a copy lacks the column, every pair becomes its own subset: the Spearman correlation of one
    pair is undefined, and so is the mean over subsets.
    """
    if "subset" in columns:
        return columns
    return {**columns, "subset": [str(row) for row in range(len(columns["score"]))]}


def _mentions(passage: str, names: Sequence[str]) -> dict[str, list[Any]]:
    """All occurrences of the names, as `answers` of an extraction.

    A name that does not occur as a whole word is searched within words; its start is NOWHERE if it
    does not occur at all.
    """
    found = [(name, start) for name in dict.fromkeys(names) for start in _starts(passage, name)]
    known = {name for name, _ in found}
    found += [(name, NOWHERE) for name in dict.fromkeys(names) if name not in known]
    return {"text": [name for name, _ in found], "answer_start": [start for _, start in found]}


def _starts(passage: str, name: str) -> list[int]:
    whole = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", passage)]
    return whole or [match.start() for match in re.finditer(re.escape(name), passage)]


def _marked(text: str, first: int, span: str) -> str:
    """`text` with asterisks around the words from index `first` on, as many as `span` has.

    Attached punctuation remains outside the asterisks.
    """
    words = text.split()
    end = first + len(span.split())
    found = " ".join(words[first:end])
    marked = found.replace(span, f"*{span}*", 1) if span in found else f"*{found}*"
    return " ".join([*words[:first], marked, *words[end:]])


def _index(names: Sequence[str], name: str) -> int:
    """Index of `name`, or -1 if it is not in `names`."""
    return list(names).index(name) if name in list(names) else -1


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


PREPROCESSORS: dict[str, Callable[[Columns], Columns]] = {
    function.__name__: function
    for function in (
        copa,
        multirc,
        record,
        rte_and_diagnostics,
        wsc,
        marked_predicate,
        ontonotes_roles,
        ontonotes_mentions,
        relative_heads,
        relevant,
        code_to_text,
        function_choices,
        swag,
        openbookqa,
        mctest,
        dream,
        narrativeqa,
        languages,
        drop_unlabelled,
        lower_labels,
        binary_nli,
        sts_subsets,
    )
}
"""Name, as in `Task.prepare`, to the preprocessor."""
CLASSES_KEPT: Mapping[str, int] = {
    "binary_nli": 1,
    "openbookqa": 0,
    "mctest": 0,
    "dream": 0,
    "lower_labels": 0,
}
"""Preprocessor to the number of leading classes whose labels it keeps; all others keep all classes.
"""


def prepared(name: str, columns: Columns) -> Columns:
    """The columns of a split after the preprocessor of this name.

    Raises:
        MemberError: it returns something else, or columns of unequal lengths.
        Exception: whatever it raises.
    """
    function = PREPROCESSORS[name]
    found: object = function(columns)
    if not isinstance(found, Mapping):
        given = type(found).__name__
        raise MemberError(f"the preprocessor {name!r} must return columns, not {given}", function)
    sizes = {field: len(column) for field, column in found.items()}
    if len(set(sizes.values())) > 1:
        raise MemberError(
            f"the preprocessor {name!r} must return columns of equal lengths, but they have "
            f"{sizes}",
            function,
        )
    return found
