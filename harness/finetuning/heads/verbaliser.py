"""Tasks as text: source and target texts of an example, and labels from generated texts.

    generation       the text; of a pair both, with a line end between
    classification   <task> <field>: <text> <field>: <text>  ->  the class's word
    regression       the same  ->  the value, rounded to the nearest 0.2
    tagging          <task>: the words  ->  the names of their tags
    multiple choice  question, (a) one (b) another, context  ->  the right choice
    extraction       question, context  ->  the answer; nothing where there is none

Classification and regression follow T5 (Raffel et al. 2020, section 2.4, appendix D). Multiple
choice and extraction follow UnifiedQA (Khashabi et al. 2020, section 3.1; allenai/unifiedqa), with
a literal `\\n` between the parts; only multiple choice is lower-cased, as extraction is scored on
cased texts. Generation has no task prefix, as each model is trained on one task.
"""

import math
import re
from collections.abc import Sequence
from string import ascii_lowercase, punctuation
from typing import Any

from harness.tasks.examples import HIDDEN
from harness.tasks.task import Task

LINE_END = "\\n"
"""Two characters: the tokenizers of T5 and BERT have no line ends (UnifiedQA)."""
STEPS = 5
"""Distinct values of T5 per unit."""
NO_VALUE = -1.0
"""Value of a text that is no number (google-research/text-to-text-transfer-transformer,
t5/data/postprocessors.py, string_to_float)."""
LETTERS = str.maketrans("0123456789", ascii_lowercase[:10])
DIGITS = str.maketrans(ascii_lowercase[:10], "0123456789")


def source(
    task: Task, texts: tuple[str, ...], choices: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Parts of the source text, to be joined by spaces."""
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
    """Each text after the name of its field; texts made by a pattern have no name."""
    parts = []
    for field, text in zip(task.text_fields, texts, strict=True):
        parts += [text] if "{" in field else [f"{field}:", text]
    return parts


def _listed(choices: Sequence[str]) -> list[str]:
    """Each choice after its letter; after z its number."""
    parts = []
    for number, choice in enumerate(choices, 1):
        letter = ascii_lowercase[number - 1] if number <= len(ascii_lowercase) else number
        parts += [f"({letter})", choice]
    return parts


def _lines(*lines: Sequence[str]) -> tuple[str, ...]:
    parts: list[str] = []
    for line in filter(None, lines):
        parts += [LINE_END, *line] if parts else line
    return tuple(parts)


def target(task: Task, label: Any, choices: Sequence[str] | None = None) -> str:
    """The target text; empty for hidden labels."""
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
    """The text with one sentence per line, as ROUGE-Lsum expects (huggingface/transformers,
    run_summarization.py)."""
    return re.sub(r"(?<=[.?!]) +", "\n", text)


def class_names(task: Task) -> tuple[str, ...]:
    """Words for the classes: the prompt's answers if the task has any, else the labels."""
    if task.prompt and task.prompt.answers:
        return task.prompt.answers
    return tuple(label.replace("_", " ") for label in task.labels)


def written_value(value: float) -> str:
    """The value rounded to the nearest 0.2, as in T5; empty if not finite."""
    return f"{round(value * STEPS) / STEPS:.1f}" if math.isfinite(value) else ""


def value_of(text: str) -> float:
    """The number in a text, ignoring spaces (WordPiece decodes `3. 4`); NO_VALUE if it is none."""
    try:
        value = float(text.replace(" ", ""))
    except ValueError:
        return NO_VALUE
    return value if math.isfinite(value) else NO_VALUE


def normalise(text: str) -> str:
    """The text in lower case with single spaces."""
    return " ".join(text.lower().split())


def index_of(text: str, names: Sequence[str]) -> int:
    """Index of the name that equals a text up to case and spaces; -1 for any other text, which
    counts as an error (Raffel et al. 2020, section 2.4)."""
    found = [index for index, name in enumerate(names) if normalise(name) == normalise(text)]
    return found[0] if found else -1


def choice_of(text: str, choices: Sequence[str]) -> int:
    """Index of the choice equal to a text, else of the first with the largest word overlap."""
    exact = index_of(text, choices)
    if exact >= 0:
        return exact
    shares = [_shared(text, choice) for choice in choices]
    return shares.index(max(shares))


def _shared(one: str, other: str) -> float:
    """Shared words over the words of the longer text, without punctuation (allenai/unifiedqa,
    `score_string_similarity`, removes quotes only)."""
    a, b = (re.sub(f"[{re.escape(punctuation)}]", " ", t.lower()).split() for t in (one, other))
    return len(set(a) & set(b)) / max(len(a), len(b), 1)


def tags_of(
    tokens: Sequence[int], names: Sequence[tuple[int, ...]], num_words: int, missing: int = 0
) -> tuple[int, ...]:
    """Tags parsed from generated tokens, longest names first.

    Tokens that begin no name are skipped, and surplus tags are cut.

    Args:
        missing: tag of the words for which none is written.
    """
    by_length = sorted(range(len(names)), key=lambda tag: -len(names[tag]))
    tags: list[int] = []
    start = 0
    while start < len(tokens) and len(tags) < num_words:
        rest = tuple(tokens[start:])
        tag = next((t for t in by_length if rest[: len(names[t])] == names[t]), None)
        tags += [] if tag is None else [tag]
        start += 1 if tag is None else len(names[tag])
    return (*tags, *(missing for _ in range(num_words - len(tags))))
