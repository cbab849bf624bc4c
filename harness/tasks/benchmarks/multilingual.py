"""Inference and paraphrase in several languages, trained on English: XNLI and PAWS-X.

The model of the English task answers in every language (zero-shot transfer: Hu et al. 2020, XTREME,
ICML), so that each language is a split of one task, named by its ISO 639-1 code.
"""

from collections.abc import Sequence

from harness.tasks.task import Column, HubData, Split, Suite, Task

XNLI_LANGUAGES = tuple("ar bg de el en es fr hi ru sw th tr ur vi zh".split())
PAWS_X_LANGUAGES = tuple("de en es fr ja ko zh".split())


def _tests(languages: Sequence[str]) -> tuple[Split, ...]:
    """The test set of each language; English has the config of the train set."""
    return tuple(
        Split(name=f"test_{one}", of="test", config=None if one == "en" else one)
        for one in languages
    )


MULTILINGUAL_TASKS: tuple[Task, ...] = (
    Task(
        name="xnli",
        kind="classification",
        data=HubData(
            path="facebook/xnli", config="en", revision="b8dd5d7af51114dbda02c0e3f6133f332186418e"
        ),
        text_fields=("premise", "hypothesis"),
        labels=("entailment", "neutral", "contradiction"),
        evaluation=(Split(name="validation"), *_tests(XNLI_LANGUAGES)),
        metrics=("accuracy",),
        chance=1 / 3,  # a random choice
        train_size=392_702,  # MNLI's
        licence="CC BY-NC 4.0",
        citation="Conneau et al. 2018, XNLI, EMNLP",
    ),
    Task(
        name="paws_x",
        kind="classification",
        data=HubData(
            path="google-research-datasets/paws-x",
            config="en",
            revision="4cd8187c404bda33cb1f62b49b001115862acf37",
        ),
        text_fields=("sentence1", "sentence2"),
        symmetric=True,
        labels=("0", "1"),  # 1 is a paraphrase
        evaluation=(Split(name="validation"), *_tests(PAWS_X_LANGUAGES)),
        metrics=("accuracy",),
        train_size=49_401,
        citation="Yang et al. 2019, PAWS-X, EMNLP",
    ),
)


def _columns(task: str, languages: Sequence[str]) -> tuple[Column, ...]:
    return tuple(
        Column(name=one, task=task, split=f"test_{one}", metrics=("accuracy",)) for one in languages
    )


XNLI_V1 = Suite(
    name="xnli-v1",
    columns=_columns("xnli", XNLI_LANGUAGES),
    citation="Conneau et al. 2018, XNLI, EMNLP",
)
PAWS_X_V1 = Suite(
    name="paws-x-v1",
    columns=_columns("paws_x", PAWS_X_LANGUAGES),
    citation="Yang et al. 2019, PAWS-X, EMNLP",
)
