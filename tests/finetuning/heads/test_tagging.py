"""Tagging: alignment by hand, long sentences, the loss."""

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads.tagging import IGNORED, Tagging
from harness.finetuning.inputs import Ragged
from harness.finetuning.protocol import Protocol
from harness.finetuning.run import predict
from harness.tasks.examples import HIDDEN, Examples, column
from tests.finetuning.heads.test_conformance import make_backbone, make_task, tokenizer

__all__ = ["tokenizer"]
TASK = make_task("tagging")
X = IGNORED


def make_head(tokenizer: PreTrainedTokenizerFast, **protocol: int) -> Tagging:
    return Tagging(TASK, Protocol.model_validate(protocol), tokenizer)


def pieces(tokenizer: PreTrainedTokenizerFast, word: str) -> int:
    return len(tokenizer(word, add_special_tokens=False)["input_ids"])


def test_a_word_is_tagged_at_its_first_subword(tokenizer: PreTrainedTokenizerFast) -> None:
    long = pieces(tokenizer, "aingat")
    assert long > 1 and pieces(tokenizer, "cat") == 1
    examples = Examples([("cat", "aingat", "the"), ("dog",)], column([(0, 1, 2), (HIDDEN,)]))
    data = make_head(tokenizer).encode(examples)
    assert isinstance(data.targets, Ragged) and data.positions is not None
    assert data.targets[0].tolist() == [X, 0, 1, *[X] * (long - 1), 2, X]
    assert data.positions[0].tolist() == [-1, 0, 1, *[-1] * (long - 1), 2, -1]
    assert data.targets[1].tolist() == [X, X, X]
    assert data.truncated == 0.0


def test_every_word_of_a_long_sentence_is_tagged_once(tokenizer: PreTrainedTokenizerFast) -> None:
    rng = np.random.default_rng(0)
    words = tuple(str(w) for w in rng.choice(["the", "cat", "aingat", "dog", "saw"], 60))
    examples = Examples([("cat",), words, words[:30]], column([(1,), (2,) * 60, (0,) * 30]))
    head = make_head(tokenizer, max_sequence_length=16, doc_stride=4)
    data = head.encode(examples)
    assert data.owners is not None and data.positions is not None
    assert data.input_ids.lengths.max() <= 16 and data.truncated == 0.0
    for owner, count in enumerate((1, 60, 30)):
        places = [data.positions[item] for item in np.flatnonzero(data.owners == owner).tolist()]
        tagged = np.concatenate(places)
        assert tagged[tagged >= 0].tolist() == list(range(count))
    # The context shared with the window before: `doc_stride` tokens after [CLS], not tagged again.
    windows = np.flatnonzero(data.owners == 1).tolist()
    before, after = (data.input_ids[item].tolist() for item in windows[:2])
    assert before[-5:-1] == after[1:5]
    assert (data.positions[windows[1]][:5] == -1).all()


def test_a_window_that_begins_inside_a_word(tokenizer: PreTrainedTokenizerFast) -> None:
    word = "rain" + "in" * 15
    head = make_head(tokenizer, max_sequence_length=8, doc_stride=1)
    data = head.encode(Examples([(word, "cat")], column([(1, 2)])))
    assert data.positions is not None and data.num_items > 2
    assert data.positions.values[data.positions.values >= 0].tolist() == [0, 1]
    middle = head.collate(data, np.array([1]))
    assert (middle["labels"] == X).all()
    assert head.loss(torch.ones(*middle["labels"].shape, 3), middle).item() == 0.0


def test_the_loss_by_hand(tokenizer: PreTrainedTokenizerFast) -> None:
    head = make_head(tokenizer)
    outputs = torch.randn(1, 4, 3, generator=torch.Generator().manual_seed(0))
    batch = {"labels": torch.tensor([[X, 2, X, 0]])}
    logs = outputs[0].log_softmax(-1)
    mean = -(logs[1, 2] + logs[3, 0]) / 2
    torch.testing.assert_close(head.loss(outputs, batch), mean)


def test_tags_are_assigned_to_words(tokenizer: PreTrainedTokenizerFast) -> None:
    """Outputs at other tokens than first subwords are ignored; a word without tokens is
    outside."""
    examples = Examples([("cat", "aingat", "\u200b", "the")], column([(0, 0, 0, 0)]))
    head = make_head(tokenizer)
    data = head.encode(examples)
    assert data.positions is not None
    read = [[1 if place < 0 else 2 for place in data.positions[0]]]
    empty = pieces(tokenizer, "\u200b") == 0
    assert head.predictions(read, data, examples).tolist() == [(2, 2, 0 if empty else 2, 2)]


def test_tags_are_those_of_the_windows(tokenizer: PreTrainedTokenizerFast) -> None:
    head = make_head(tokenizer, max_sequence_length=16, doc_stride=4)
    words = ("the", "cat", "aingat", "dog", "saw") * 8
    examples = Examples([words], column([(0,) * 40]))
    model = head.make_model(
        make_backbone("bert", "bidirectional", tokenizer), ADAPTATIONS["full"]
    ).eval()
    data = head.encode(examples)
    (found,) = predict(model, head, data, examples)
    assert data.positions is not None
    for item in range(data.num_items):
        batch = head.collate(data, np.array([item]))
        tags = model(batch)[0].argmax(-1).tolist()
        for token, word in enumerate(data.positions[item]):
            assert word < 0 or found[word] == tags[token]
