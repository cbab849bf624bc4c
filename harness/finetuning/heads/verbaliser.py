"""Tasks in words: what a text-to-text model reads of an example, and what it is to write.

    generation       the text; of a pair both, with a line end between
    classification   <task> <field>: <text> <field>: <text>  ->  the class's word
    regression       the same  ->  the value, rounded to the nearest 0.2
    tagging          <task>: the words  ->  the names of their tags
    multiple choice  question, (a) one (b) another, context  ->  the right choice
    extraction       question, context  ->  the answer; nothing where there is none

Classes and values are put as in T5 (Raffel et al. 2020, section 2.4, appendix D). Multiple choice
and extraction as in UnifiedQA (Khashabi et al. 2020, section 3.1; allenai/unifiedqa), with a
literal `\\n` between the parts, but only multiple choice in lower case: extraction is scored on
texts as they are. As each model learns one task alone, texts to be written need no prefix.
"""

import math
import re
from collections.abc import Sequence
from string import ascii_lowercase, punctuation
from typing import Any

from harness.tasks.examples import HIDDEN
from harness.tasks.task import Task

LINE_END = "\\n"
"""Two characters: the tokenizers of T5 and BERT know no real line end (UnifiedQA)."""
STEPS = 5
"""Values that T5 tells apart between two whole numbers."""
NO_VALUE = -1.0
"""What a text that is no number counts as (google-research/text-to-text-transfer-transformer,
t5/data/postprocessors.py, string_to_float)."""
LETTERS = str.maketrans("0123456789", ascii_lowercase[:10])
DIGITS = str.maketrans(ascii_lowercase[:10], "0123456789")


def source(
    task: Task, texts: tuple[str, ...], choices: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Parts of what is read; a space stands between them."""
    if task.kind in ("classification", "regression"):
        return (task.name, *_with_names(task, texts))
    if task.kind == "tagging":
        return (f"{task.name}:", " ".join(texts))
    if task.kind == "multiple_choice":
        assert choices is not None
        parts = _lines(texts[:1], _listed(choices), texts[1:])
        return tuple(part.lower() for part in parts)
    return _lines(*((text,) for text in texts))


def _with_names(task: Task, texts: tuple[str, ...]) -> list[str]:
    """Each text after the name of its field; a text that is a pattern says itself what it is."""
    parts = []
    for field, text in zip(task.text_fields, texts, strict=True):
        parts += [text] if "{" in field else [f"{field}:", text]
    return parts


def _listed(choices: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        part
        for letter, choice in zip(_letters(len(choices)), choices, strict=True)
        for part in (f"({letter})", choice)
    )


def _letters(number: int) -> list[str]:
    """A, B, ...; after Z the numbers from 27."""
    return [ascii_lowercase[i] if i < 26 else str(i + 1) for i in range(number)]


def _lines(*lines: Sequence[str]) -> tuple[str, ...]:
    parts: list[str] = []
    for line in filter(None, lines):
        parts += [LINE_END, *line] if parts else line
    return tuple(parts)


def target(task: Task, label: Any, choices: Sequence[str] | None = None) -> str:
    """What is to be written; nothing where the label is not public."""
    if task.kind == "classification":
        return "" if label == HIDDEN else class_names(task)[label]
    if task.kind == "regression":
        return written_value(label)
    if task.kind == "multiple_choice":
        assert choices is not None
        return "" if label == HIDDEN else choices[label].lower()
    if task.kind == "tagging":
        return " ".join(task.labels[tag] for tag in label)
    texts = label.texts if task.kind == "extraction" else label
    return texts[0] if texts else ""


def on_lines(text: str) -> str:
    """A line for each sentence, as ROUGE-Lsum wants it, of a text that has lost its line ends
    (huggingface/transformers, examples, run_summarization.py, does so to every text)."""
    return re.sub(r"(?<=[.?!]) +", "\n", text)


def class_names(task: Task) -> tuple[str, ...]:
    """Words for the classes: those of the prompt, where there is one, for they are chosen to be
    words of the language; else the labels."""
    if task.prompt and task.prompt.answers:
        return task.prompt.answers
    return tuple(label.replace("_", " ") for label in task.labels)


def written_value(value: float) -> str:
    """Rounded to the nearest 0.2, as T5 does with similarities from 1 to 5."""
    return f"{round(value * STEPS) / STEPS:.1f}" if math.isfinite(value) else ""


def value_of(text: str) -> float:
    """The number that a text is, without heed to spaces (WordPiece writes `3. 4`)."""
    try:
        value = float(text.replace(" ", ""))
    except ValueError:
        return NO_VALUE
    return value if math.isfinite(value) else NO_VALUE


def normalise(text: str) -> str:
    """Lower case, single spaces."""
    return " ".join(text.lower().split())


def place_of(text: str, names: Sequence[str]) -> int:
    """Which name a text is; -1 for any other text, which is wrong (Raffel et al. 2020, 2.4)."""
    found = [place for place, name in enumerate(names) if normalise(name) == normalise(text)]
    return found[0] if found else -1


def choice_of(text: str, choices: Sequence[str]) -> int:
    """The choice that a text is or, if it is none, the one most like it; of equals the first."""
    same = place_of(text, choices)
    if same >= 0:
        return same
    shares = [_shared(text, choice) for choice in choices]
    return shares.index(max(shares))


def _shared(one: str, other: str) -> float:
    """Words in common, as a share of the longer text's (allenai/unifiedqa, evaluation, whose
    `score_string_similarity` leaves only quotes away; here no punctuation counts)."""
    a, b = (re.sub(f"[{re.escape(punctuation)}]", " ", t.lower()).split() for t in (one, other))
    return len(set(a) & set(b)) / max(len(a), len(b), 1)


def tags_of(
    tokens: Sequence[int], names: Sequence[tuple[int, ...]], num_words: int
) -> tuple[int, ...]:
    """The tags whose names the tokens are, one after the other, the longest name first; a token
    that begins no name is left out. Tag 0 where too few are written; too many are cut."""
    by_length = sorted(range(len(names)), key=lambda tag: -len(names[tag]))
    tags: list[int] = []
    place = 0
    while place < len(tokens) and len(tags) < num_words:
        rest = tuple(tokens[place:])
        tag = next((t for t in by_length if rest[: len(names[t])] == names[t]), None)
        tags += [] if tag is None else [tag]
        place += 1 if tag is None else len(names[tag])
    return (*tags, *(0 for _ in range(num_words - len(tags))))
