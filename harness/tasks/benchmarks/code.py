"""Source code: functions of Python's standard library and what their docstrings say, which need no
network (`harness.data.python_stdlib`), and three tasks of CodeXGLUE (Lu et al. 2021)."""

from harness.data import python_stdlib
from harness.tasks.task import (
    VALIDATION_AND_TEST,
    Column,
    HubData,
    StdlibData,
    Suite,
    Task,
    main_columns,
)

CITATION = f"Python Software Foundation, {python_stdlib.NAME}"
SEARCHED = "chosen and searched as in Husain et al. 2019, CodeSearchNet, arXiv 1909.09436"
LICENCE = "PSF-2.0"

# Numbers of examples are those of Python 3.11; other versions have other modules.
PYTHON_TASKS: tuple[Task, ...] = (
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

CODEXGLUE = "Lu et al. 2021, CodeXGLUE, NeurIPS Datasets and Benchmarks"
CODEXGLUE_LICENCE = "C-UDA 1.0"

# Commits could not be established.
CODEXGLUE_TASKS: tuple[Task, ...] = (
    Task(
        name="defect_detection",
        kind="classification",
        data=HubData(path="google/code_x_glue_cc_defect_detection"),
        text_fields=("func",),
        label_field="target",
        labels=("secure", "insecure"),
        evaluation=VALIDATION_AND_TEST,
        metrics=("accuracy",),
        train_size=21_854,
        licence=CODEXGLUE_LICENCE,
        citation=f"Zhou et al. 2019, Devign, NeurIPS; {CODEXGLUE}",
    ),
    Task(
        name="clone_detection",
        kind="classification",
        data=HubData(path="google/code_x_glue_cc_clone_detection_big_clone_bench"),
        text_fields=("func1", "func2"),
        symmetric=True,
        labels=("different", "clone"),
        evaluation=VALIDATION_AND_TEST,
        metrics=("f1", "accuracy"),
        train_size=901_028,
        licence=CODEXGLUE_LICENCE,
        citation=f"Svajlenko et al. 2014, BigCloneBench, ICSME; {CODEXGLUE}",
    ),
    Task(
        name="code_to_text_python",
        kind="generation",
        data=HubData(path="google/code_x_glue_ct_code_to_text", config="python"),
        prepare="code_to_text",
        text_fields=("code",),
        label_field="docstring",
        evaluation=VALIDATION_AND_TEST,
        metrics=("bleu_smoothed", "rougeL"),
        train_size=251_820,
        licence=CODEXGLUE_LICENCE,
        citation=f"Husain et al. 2019, CodeSearchNet, arXiv 1909.09436; {CODEXGLUE}",
    ),
)

CODEXGLUE_V1 = Suite(
    name="codexglue-v1",
    columns=main_columns(CODEXGLUE_TASKS, split="test"),
    citation=CODEXGLUE,
)

CODE_TASKS: tuple[Task, ...] = (*PYTHON_TASKS, *CODEXGLUE_TASKS)
