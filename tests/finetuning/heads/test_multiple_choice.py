"""Multiple choice: rows, scores side by side, and BERT's own head with the same weights."""

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMultipleChoice, PreTrainedTokenizerFast

from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.heads.multiple_choice import MultipleChoice, side_by_side
from harness.finetuning.protocol import Protocol
from harness.tasks.examples import Examples
from harness.tasks.task import Task
from tests.finetuning.heads.test_conformance import make_backbone, make_task, tokenizer

__all__ = ["tokenizer"]
TASK: Task = make_task("multiple_choice")
EXAMPLES = Examples(
    [("the cat", ""), ("a dog saw", "rain"), ("in",)],
    np.array([1, 2, 0]),
    [("in rain", "a dog saw the cat"), ("the", "a", "cat in rain"), ("a", "the cat")],
)


@pytest.fixture
def head(tokenizer: PreTrainedTokenizerFast) -> MultipleChoice:
    return MultipleChoice(TASK, Protocol(max_sequence_length=32, head_dropout=0), tokenizer)


def test_a_row_is_the_context_and_a_choice(
    head: MultipleChoice, tokenizer: PreTrainedTokenizerFast
) -> None:
    data = head.encode(EXAMPLES)
    assert data.first_rows is not None and data.first_rows.tolist() == [0, 2, 5, 7]
    texts = [tokenizer.decode(data.input_ids[row]) for row in (0, 4, 6)]
    assert texts == [
        "[CLS] the cat [SEP] in rain [SEP]",
        "[CLS] a dog saw rain [SEP] cat in rain [SEP]",
        "[CLS] in [SEP] the cat [SEP]",
    ]
    assert data.token_type_ids[4].tolist() == [0] * 6 + [1] * 4
    assert data.truncated == 0.0
    short = MultipleChoice(TASK, Protocol(max_sequence_length=8), tokenizer).encode(EXAMPLES)
    assert short.truncated == pytest.approx(2 / 3)  # of the examples, not of their choices


def test_items_are_collated_with_all_their_choices(head: MultipleChoice) -> None:
    data = head.encode(EXAMPLES)
    batch = head.collate(data, np.array([2, 1]))
    assert batch["num_choices"].tolist() == [2, 3] and batch["labels"].tolist() == [0, 2]
    rows = [data.input_ids[row].tolist() for row in (5, 6, 2, 3, 4)]
    for row, ids in zip(rows, batch["input_ids"].tolist(), strict=True):
        assert ids[: len(row)] == row


def test_scores_side_by_side_by_hand(head: MultipleChoice) -> None:
    outputs = torch.tensor([[1.0], [2.0], [-3.0], [-2.0], [-1.5]])
    scores = side_by_side(outputs, torch.tensor([2, 3]))
    assert scores.tolist() == [[1, 2, -torch.inf], [-3, -2, -1.5]]
    batch = {"num_choices": torch.tensor([2, 3]), "labels": torch.tensor([0, 2])}
    assert head.decode(outputs, batch) == [1, 2]
    first = np.log(np.exp(1) + np.exp(2)) - 1
    second = np.log(np.exp([-3, -2, -1.5]).sum()) + 1.5
    assert head.loss(outputs, batch).item() == pytest.approx((first + second) / 2)


def test_it_is_bert_for_multiple_choice(
    head: MultipleChoice, tokenizer: PreTrainedTokenizerFast
) -> None:
    """Without BERT's pooler, which this head does not have."""
    backbone = make_backbone("bert", "bidirectional", tokenizer)
    model = head.make_model(backbone, ADAPTATIONS["full"]).eval()
    assert isinstance(model, Classifier)
    config = backbone.network.config
    assert isinstance(config, BertConfig)
    theirs = BertForMultipleChoice(config).eval()
    theirs.bert.load_state_dict(backbone.network.base_model.state_dict(), strict=False)
    theirs.classifier.load_state_dict(model.head.state_dict())
    theirs.bert.pooler = _First()
    examples = EXAMPLES.take(np.array([0, 2]))
    batch = head.collate(head.encode(examples), np.arange(2))
    shaped = {
        name: batch[name].view(2, 2, -1)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    }
    with torch.no_grad():
        out = theirs(**shaped, labels=batch["labels"])
        mine = model(batch)
    torch.testing.assert_close(mine.view(2, 2), out.logits)
    torch.testing.assert_close(head.loss(mine, batch), out.loss)


class _First(torch.nn.Module):
    """The state of the first token, without a dense layer."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return states[:, 0]
