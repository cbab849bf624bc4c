"""Functions of Python's standard library and what their docstrings say: search, summaries and a
match of both (`harness.data.python_stdlib`). They need no network."""

from harness.data import python_stdlib
from harness.tasks.task import Column, StdlibData, Suite, Task

CITATION = f"Python Software Foundation, {python_stdlib.NAME}"
SEARCHED = "chosen and searched as in Husain et al. 2019, CodeSearchNet, arXiv 1909.09436"
LICENCE = "PSF-2.0"

# Numbers of examples are those of Python 3.11; other versions have other modules.
CODE_TASKS: tuple[Task, ...] = (
    Task(
        name="python-search",
        kind="retrieval",
        data=StdlibData(),
        prepare="relevant",
        train=None,
        text_fields=("docstring", "code"),
        label_field="relevance",
        group_field="docstring",
        metrics=("mrr", "ndcg_at_10", "recall_at_5"),
        chance=0.008,
        ceiling=1.0,
        licence=LICENCE,
        citation=f"{CITATION}, {SEARCHED}",
    ),
    Task(
        name="python-match",
        kind="multiple_choice",
        data=StdlibData(),
        prepare="function_choices",
        text_fields=("docstring",),
        choices_field="choices",
        group_field="module",
        metrics=("accuracy",),
        chance=0.25,
        ceiling=1.0,
        train_size=3_116,
        licence=LICENCE,
        citation=f"{CITATION}, {SEARCHED}",
    ),
    Task(
        name="python-summaries",
        kind="generation",
        data=StdlibData(),
        text_fields=("code",),
        label_field="summary",
        group_field="module",
        metrics=("bleu_smoothed", "rougeL"),
        train_size=3_116,
        licence=LICENCE,
        citation=f"{CITATION}, in the form of Lu et al. 2021, CodeXGLUE, NeurIPS (code-to-text)",
    ),
)
"""Chance of a search is the mean reciprocal rank in a random order of 950 functions. A match is the
function of a docstring among four, on which `siamese: ranking` trains for the search."""

PYTHON_CODE_V1 = Suite(
    name="python-code-v1",
    columns=(
        Column(name="search", task="python-search", metrics=("mrr",)),
        Column(name="summaries", task="python-summaries", metrics=("bleu_smoothed",)),
    ),
    citation=f"Husain et al. 2019, Lu et al. 2021, in form; text: {python_stdlib.NAME}",
)
