"""Task heads: inputs, loss and predictions of each kind of task, by an output layer or as text."""

from transformers import PreTrainedTokenizerFast

from harness.finetuning.compatibility import answered_as_text
from harness.finetuning.heads.attended_pairs import ATTENDED
from harness.finetuning.heads.classification import Classification, Regression
from harness.finetuning.heads.coreference import Coreference
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.heads.marked_words import MARKED
from harness.finetuning.heads.multiple_choice import MultipleChoice
from harness.finetuning.heads.retrieval import Retrieval
from harness.finetuning.heads.siamese import Similarity
from harness.finetuning.heads.spans import SpanExtraction
from harness.finetuning.heads.tagging import Tagging
from harness.finetuning.heads.text import TextOutput
from harness.finetuning.protocol import Protocol
from harness.tasks.task import Task

HEADS: dict[str, type[TaskHead]] = {
    "classification": Classification,
    "regression": Regression,
    "multiple_choice": MultipleChoice,
    "extraction": SpanExtraction,
    "tagging": Tagging,
    "coreference": Coreference,
    "similarity": Similarity,
    "retrieval": Retrieval,
}
"""Kind of task to its head."""


def task_head(task: Task, protocol: Protocol, tokenizer: PreTrainedTokenizerFast) -> TaskHead:
    """The head of `task` under `protocol`: text output, or the head of its kind."""
    if answered_as_text(task, protocol):
        return TextOutput(task, protocol, tokenizer)
    if protocol.pooling == "word":
        return MARKED[task.kind](task, protocol, tokenizer)
    attends = protocol.head == "bilstm_attention" and len(task.text_fields) == 2
    return (ATTENDED if attends else HEADS)[task.kind](task, protocol, tokenizer)
