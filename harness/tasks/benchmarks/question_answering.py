"""NarrativeQA and MCTest, and a suite of the four question formats that UnifiedQA combines.

The formats are extractive (SQuAD), abstractive (NarrativeQA), multiple choice (MCTest, OpenBookQA)
and yes/no (BoolQ): Khashabi et al. 2020, UnifiedQA, table 1.
"""

from harness.tasks.task import VALIDATION_AND_TEST, Column, HubData, Suite, Task

QUESTION_ANSWERING_TASKS: tuple[Task, ...] = (
    Task(
        name="narrativeqa",
        kind="generation",
        data=HubData(
            path="deepmind/narrativeqa", revision="2e643e7363944af1c33a652d1c87320d0871c4e4"
        ),
        prepare="narrativeqa",
        text_fields=("question", "summary"),
        label_field="answers",
        evaluation=VALIDATION_AND_TEST,
        metrics=("rougeL",),
        ceiling=0.5702,  # one annotator against another, on summaries (Kočiský et al. 2018)
        train_size=32_747,
        licence="Apache 2.0",
        citation="Kočiský et al. 2018, NarrativeQA, TACL",
    ),
    Task(
        name="mctest",
        kind="multiple_choice",
        # The Hub has a script, which `datasets` no longer runs: a mirror needs a parquet copy. The
        # commit could not be established.
        data=HubData(path="sagnikrayc/mctest", config="mc500"),
        prepare="mctest",
        text_fields=("question", "story"),
        choices_field="choices",
        evaluation=VALIDATION_AND_TEST,
        metrics=("accuracy",),
        chance=0.25,  # a random choice
        train_size=1200,
        licence="Microsoft Research licence agreement",
        citation="Richardson et al. 2013, MCTest, EMNLP",
    ),
)

# The metrics of Khashabi et al. 2020, section 4.
UNIFIEDQA_V1 = Suite(
    name="unifiedqa-v1",
    columns=(
        Column(name="squad1", task="squad1", metrics=("token_f1",)),
        Column(name="squad2", task="squad2", metrics=("token_f1",)),
        Column(name="narrativeqa", task="narrativeqa", split="test", metrics=("rougeL",)),
        Column(name="mctest", task="mctest", split="test", metrics=("accuracy",)),
        Column(name="openbookqa", task="openbookqa", split="test", metrics=("accuracy",)),
        Column(name="boolq", task="boolq", metrics=("accuracy",)),
    ),
    citation="Khashabi et al. 2020, UnifiedQA, Findings of EMNLP",
)
