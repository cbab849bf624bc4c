"""Columns of a data set, as it is published, to the columns that a task names.

A preparation is a pure function of all columns of a split; it may add rows and leave some out.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Columns = Mapping[str, Sequence[Any]]
NOWHERE = -1
"""Start of an answer that its passage lacks."""


def copa(columns: Columns) -> Columns:
    """COPA's question in words, as its authors ask it (Roemmele et al. 2011), and its choices."""
    words = {"cause": "What was the cause of this?", "effect": "What happened as a result?"}
    choices = list(zip(columns["choice1"], columns["choice2"], strict=True))
    return {**columns, "question": [words[q] for q in columns["question"]], "choices": choices}


def multirc(columns: Columns) -> Columns:
    """MultiRC with the question of each answer as `group`; question numbers start anew in every
    paragraph, so both count."""
    groups = [f"{idx['paragraph']}-{idx['question']}" for idx in columns["idx"]]
    return {**columns, "group": groups}


def record(columns: Columns) -> Columns:
    """ReCoRD's right entities as spans of the passage: every mention of each of them, and last the
    names that the passage lacks, which are right all the same."""
    pairs = zip(columns["passage"], columns["answers"], strict=True)
    return {**columns, "answers": [_mentions(passage, names) for passage, names in pairs]}


def rte_and_diagnostics(columns: Columns) -> Columns:
    """AX-b calls `sentence1` and `sentence2` what RTE and AX-g call premise and hypothesis."""
    if "premise" in columns:
        return columns
    return {**columns, "premise": columns["sentence1"], "hypothesis": columns["sentence2"]}


def wsc(columns: Columns) -> Columns:
    """WSC with the pronoun between asterisks in `marked`, as T5 has it (Raffel et al. 2020)."""
    rows = zip(columns["text"], columns["span2_index"], columns["span2_text"], strict=True)
    return {**columns, "marked": [_marked(text, int(place), span) for text, place, span in rows]}


def swag(columns: Columns) -> Columns:
    """SWAG's endings as one list of choices."""
    endings = zip(*(columns[f"ending{number}"] for number in range(4)), strict=True)
    return {**columns, "choices": list(endings)}


def openbookqa(columns: Columns) -> Columns:
    """The choices' texts, and the place of the letter that answers; -1 where none does."""
    pairs = zip(columns["choices"], columns["answerKey"], strict=True)
    labels = [_place(options["label"], key) for options, key in pairs]
    return {**columns, "choices": [o["text"] for o in columns["choices"]], "label": labels}


def mctest(columns: Columns) -> Columns:
    """MCTest's options A to D as a list of choices, and the place of the right one."""
    options = [[option[letter] for letter in "ABCD"] for option in columns["answer_options"]]
    labels = [_place("ABCD", answer) for answer in columns["answer"]]
    return {**columns, "choices": options, "label": labels}


def narrativeqa(columns: Columns) -> Columns:
    """Texts of NarrativeQA's questions, summaries and answers: the summary setting."""
    return {
        "summary": [document["summary"]["text"] for document in columns["document"]],
        "question": [question["text"] for question in columns["question"]],
        "answers": [[answer["text"] for answer in answers] for answers in columns["answers"]],
    }


def languages(columns: Columns) -> Columns:
    """A column for each language of WMT's `translation`."""
    pairs = columns["translation"]
    names = pairs[0] if pairs else ()
    return {**columns, **{name: [pair[name] for pair in pairs] for name in names}}


def drop_unlabelled(columns: Columns) -> Columns:
    """Without the pairs on whose label the annotators of SNLI did not agree (-1)."""
    kept = [row for row, label in enumerate(columns["label"]) if label != -1]
    return {name: [values[row] for row in kept] for name, values in columns.items()}


def lower_labels(columns: Columns) -> Columns:
    """Names of the classes in lower case: copies of PubMed RCT differ in it."""
    return {**columns, "label": [label.lower() for label in columns["label"]]}


def binary_nli(columns: Columns) -> Columns:
    """Entailment or not, for MNLI and HANS alike: neutral and contradiction both become 1.

    `overlap` says whether every word of the hypothesis is one of the premise: the cue that HANS
    turns against a model (McCoy et al. 2019).
    """
    pairs = zip(columns["premise"], columns["hypothesis"], strict=True)
    overlap = ["full" if _words(second) <= _words(first) else "part" for first, second in pairs]
    return {**columns, "label": [min(int(v), 1) for v in columns["label"]], "overlap": overlap}


def sts_subsets(columns: Columns) -> Columns:
    """STS with the subset of each pair. Where a copy does not name it, every pair is a subset of
    its own: a Spearman of one pair is undefined, so no mean over subsets is given out."""
    if "subset" in columns:
        return columns
    return {**columns, "subset": [str(row) for row in range(len(columns["score"]))]}


def _mentions(passage: str, names: Sequence[str]) -> dict[str, list[Any]]:
    """Each name wherever it stands in the passage, as `answers` of an extraction; a name that
    stands in no place as a whole word is looked for inside words, and is at NOWHERE if it is not
    found at all."""
    found = [(name, start) for name in dict.fromkeys(names) for start in _starts(passage, name)]
    known = {name for name, _ in found}
    found += [(name, NOWHERE) for name in dict.fromkeys(names) if name not in known]
    return {"text": [name for name, _ in found], "answer_start": [start for _, start in found]}


def _starts(passage: str, name: str) -> list[int]:
    whole = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", passage)]
    return whole or [match.start() for match in re.finditer(re.escape(name), passage)]


def _marked(text: str, place: int, span: str) -> str:
    """`text` with the words from number `place` on, as many as `span` has, between asterisks.

    Punctuation that hangs on the words stays outside.
    """
    words = text.split()
    end = place + len(span.split())
    there = " ".join(words[place:end])
    marked = there.replace(span, f"*{span}*", 1) if span in there else f"*{there}*"
    return " ".join([*words[:place], marked, *words[end:]])


def _place(names: Sequence[str], name: str) -> int:
    """Place of `name`, -1 if it is none of `names`."""
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
        swag,
        openbookqa,
        mctest,
        narrativeqa,
        languages,
        drop_unlabelled,
        lower_labels,
        binary_nli,
        sts_subsets,
    )
}
"""Name to the function; named by `Task.prepare`."""
CLASSES_KEPT: Mapping[str, int] = {"binary_nli": 1, "openbookqa": 0, "mctest": 0, "lower_labels": 0}
"""Preparations that rewrite labels to how many of the first classes stay as they were published;
every other preparation keeps all of them."""
