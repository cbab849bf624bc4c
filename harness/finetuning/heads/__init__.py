"""How each kind of task is put to a network: with a new head of its kind, or as text."""

from transformers import PreTrainedTokenizerFast

from harness.finetuning import Protocol
from harness.finetuning.compatibility import in_words
from harness.finetuning.heads.classification import Classes, Values
from harness.finetuning.heads.head import Form
from harness.finetuning.heads.multiple_choice import Choices
from harness.finetuning.heads.similarity import Likeness
from harness.finetuning.heads.spans import Spans
from harness.finetuning.heads.tagging import Tags
from harness.finetuning.heads.text import Writing
from harness.tasks.task import Task

HEADS: dict[str, type[Form]] = {
    "classification": Classes,
    "regression": Values,
    "multiple_choice": Choices,
    "extraction": Spans,
    "tagging": Tags,
    "similarity": Likeness,
}
"""Kind of a task to its form with a head of its own."""


def form_of(task: Task, protocol: Protocol, tokenizer: PreTrainedTokenizerFast) -> Form:
    """The form of `task` under `protocol`."""
    if in_words(task, protocol):
        return Writing(task, protocol, tokenizer)
    return HEADS[task.kind](task, protocol, tokenizer)
