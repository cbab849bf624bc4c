"""Dependency parsing as tagging: the English Web Treebank of Universal Dependencies."""

from harness.tasks.annotated_words import FAR, FARTHEST, ROOT
from harness.tasks.task import VALIDATION_AND_TEST, HubData, Task

HEAD_TAGS = (
    ROOT,
    *(f"-{distance}" for distance in range(1, FARTHEST + 1)),
    *(f"+{distance}" for distance in range(1, FARTHEST + 1)),
    *FAR,
)
"""Distance of a word to its head, negative to the left: the relative encoding of Strzyz et al.
2019, "Viable dependency parsing as sequence labeling", NAACL, section 3."""

PARSING_TASKS: tuple[Task, ...] = (
    Task(
        name="ud_ewt_heads",
        kind="tagging",
        # The Hub has a script, which `datasets` no longer runs: a mirror needs its parquet copy.
        data=HubData(path="universal-dependencies/universal_dependencies", config="en_ewt"),
        prepare="relative_heads",
        text_fields=("tokens",),
        label_field="heads",
        labels=HEAD_TAGS,
        evaluation=VALIDATION_AND_TEST,
        metrics=("accuracy_tags",),  # the unlabelled attachment score, with punctuation
        train_size=12_543,
        licence="CC BY-SA 4.0",
        citation="Silveira et al. 2014, LREC; Nivre et al. 2016, LREC",
    ),
)
