"""Answers as text that a tokenizer cannot write as the references have them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from harness.experiment.arms import Arm
from harness.finetuning.compatibility import answered_as_text
from harness.plan.plan import Plan
from harness.tasks.data_files import first_rows
from harness.tasks.load_examples import file_of
from harness.tasks.task import FileData, MicroworldData, Task

CASED = ("bleu", "bleu_intl")
"""Metrics that tell capital letters from others."""
SPACED = ("exact_match", "token_f1", "bleu")
"""Metrics in which spaces beside punctuation marks divide words."""
SPLITTING = ("wordpiece", "bpe", "word")
"""Algorithms that do not keep whether there is a space beside a punctuation mark."""
SAMPLE = 1_000
"""Rows of a file whose references are read."""
_MARK = re.compile(r"\w[^\w\s]\w")
Has = Callable[[str], bool]
"""Whether a text has what a tokenizer loses."""


def unwritable_answers(plan: Plan) -> Iterator[str]:
    """Tasks answered as text, whose references have capital letters, or punctuation marks within
    words, that the tokenizer of an arm loses while the metric counts them."""
    found: dict[str, list[str]] = defaultdict(list)
    for arm in plan.arms:
        known = arm.evaluate.chosen
        tasks = [task for name, task in known.items() if (arm.name, name) not in plan.unsupported]
        for why in _reasons(arm, tasks):
            found[why].append(arm.name)
    for why, arms in found.items():
        yield f"{', '.join(arms)}: {why}"


def _reasons(arm: Arm, tasks: Sequence[Task]) -> Iterator[str]:
    run, protocol = arm.pretrain, arm.evaluate.protocol
    if run.model.checkpoint or run.model.facts.kind in ("baseline", "checkpoint"):
        return
    tasks = [task for task in tasks if answered_as_text(task, protocol)]
    if run.tokenizer.lowercase and (scores := _scores(tasks, CASED, _has_capitals)):
        yield (
            f"the tokenizer writes no capital letters, which count in {scores}: of Multi30k, the "
            "best possible BLEU is about 25; set pretrain.tokenizer.lowercase to false"
        )
    name = run.tokenizer.algorithm
    if name in SPLITTING and (scores := _scores(tasks, SPACED, _has_marks)):
        yield (
            f"the tokenizer ({name}) writes spaces beside the punctuation marks within words, as "
            f"in 3. 5, which count in {scores}: of SQuAD, the best possible exact match is about "
            "88; set pretrain.tokenizer.algorithm to byte_bpe, unigram or sentencepiece_bpe"
        )


def _scores(tasks: Sequence[Task], metrics: Sequence[str], has: Has) -> str:
    """`bleu of mine`, of the tasks with one of the metrics whose references may have what is
    lost."""
    named = {task.name: [one for one in task.metrics if one in metrics] for task in tasks}
    shown = [task.name for task in tasks if named[task.name] and _may_have(task, has)]
    return ", ".join(f"{' and '.join(named[name])} of {name}" for name in shown)


def _may_have(task: Task, has: Has) -> bool:
    """Whether a reference has something: of a file, one of the first; the micro-world has lower
    case and no marks within words; of other data, it is taken as given."""
    if not isinstance(task.data, FileData) or task.prepare:
        return not isinstance(task.data, MicroworldData)
    file = file_of(task, task.train or next(iter(task.data.files)))
    column = first_rows(file, task.data.source, SAMPLE)[task.label_field]
    return any(has(text) for value in column for text in _texts(value))


def _texts(value: Any) -> Sequence[str]:
    """The references of a row."""
    texts = value["text"] if isinstance(value, Mapping) else value
    return [texts] if isinstance(texts, str) else texts


def _has_capitals(text: str) -> bool:
    return text != text.lower()


def _has_marks(text: str) -> bool:
    return _MARK.search(text) is not None
