"""How each kind of task is put to a network: with a new head of its kind, or as text."""

from transformers import PreTrainedTokenizerFast

from harness.adaptation import Protocol
from harness.adaptation.ability import in_words
from harness.adaptation.forms.choices import Choices
from harness.adaptation.forms.classes import Classes, Values
from harness.adaptation.forms.form import Form
from harness.adaptation.forms.likeness import Likeness
from harness.adaptation.forms.spans import Spans
from harness.adaptation.forms.tags import Tags
from harness.adaptation.forms.writing import Writing
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


__all__ = ["HEADS", "Form", "form_of"]
