"""Extraction: windows and targets as in the example of transformers, the loss of BERT's own head,
answers by hand."""

import copy
import itertools

import numpy as np
import pytest
import torch
from tokenizers import processors
from torch import nn
from transformers import BertConfig, BertForQuestionAnswering, PreTrainedTokenizerFast

from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.heads.spans import MAX_ANSWER, Span, SpanExtraction, SpanFinder
from harness.finetuning.inputs import Encoded
from harness.finetuning.module import FinetuningModule
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import predict
from harness.tasks.examples import Answers, Examples, column
from tests.finetuning.heads.test_conformance import make_backbone, make_task, tokenizer

__all__ = ["tokenizer"]
NONE = Answers((), ())


def make_head(
    tokenizer: PreTrainedTokenizerFast, length: int = 32, stride: int = 8
) -> SpanExtraction:
    fields = {"max_sequence_length": length, "doc_stride": stride, "head_dropout": 0.0}
    return SpanExtraction(make_task("extraction"), Protocol.model_validate(fields), tokenizer)


def long_context(num_words: int = 60) -> list[str]:
    rng = np.random.default_rng(1)
    words = ["the", "cat", "saw", "a", "dog", "aingat", "in", "rain"]
    return [str(word) for word in rng.choice(words, num_words)]


def answer_at(words: list[str], first: int, last: int) -> Answers:
    start = len(" ".join(words[:first])) + (first > 0)
    return Answers((" ".join(words[first : last + 1]),), (start,))


def targets(data: Encoded) -> np.ndarray:
    assert isinstance(data.targets, np.ndarray)
    return data.targets


def test_targets_by_hand(tokenizer: PreTrainedTokenizerFast) -> None:
    examples = Examples(
        [("a cat", "The dog saw rain"), ("a cat", "the dog"), ("a cat", "the  dog ")],
        column([Answers(("dog saw", "rain"), (4, 12)), NONE, Answers((" dog ",), (4,))]),
    )
    data = make_head(tokenizer).encode(examples)
    # [CLS] a cat [SEP] the dog saw rain [SEP]
    assert targets(data).tolist() == [[5, 6, 0], [0, 0, 1], [5, 5, 0]]
    assert data.owners is not None and data.owners.tolist() == [0, 1, 2]
    assert data.positions is not None
    offsets = data.positions[0].reshape(-1, 2).tolist()
    out = [-1, -1]
    assert offsets == [out, out, out, out, [0, 3], [4, 7], [8, 11], [12, 16], out]


def test_windows_share_their_stride_and_cover_the_context(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    words = long_context()
    examples = Examples([("a cat saw", " ".join(words))], column([answer_at(words, 30, 31)]))
    data = make_head(tokenizer).encode(examples)
    assert data.positions is not None and data.num_items > 2
    rows = [data.positions[item].reshape(-1, 2) for item in range(data.num_items)]
    spans = [row[row[:, 1] >= 0] for row in rows]
    for before, after in itertools.pairwise(spans):
        assert before[-8:].tolist() == after[:8].tolist()
    text = " ".join(words)
    covered = np.zeros(len(text), dtype=bool)
    for start, end in np.concatenate(spans):
        covered[start:end] = True
    assert all(covered[i] or char == " " for i, char in enumerate(text))
    found = {
        text[span[first - 5, 0] : span[last - 5, 1]]
        for span, (first, last, _) in zip(spans, targets(data).tolist(), strict=True)
        if first
    }
    assert found == {" ".join(words[30:32])}


def reference(
    question: str, context: str, answers: Answers, tokenizer: PreTrainedTokenizerFast
) -> list[tuple[list[int], int, int]]:
    """input_ids, start and end of each window, step by step as in
    huggingface/transformers, examples/pytorch/question-answering/run_qa.py."""
    out = tokenizer(
        [question],
        [context],
        truncation="only_second",
        max_length=32,
        stride=8,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
    )
    features = []
    for item, offsets in enumerate(out["offset_mapping"]):
        sequence_ids = out.sequence_ids(item)
        start_char, end_char = answers.starts[0], answers.starts[0] + len(answers.texts[0])
        first = sequence_ids.index(1)
        last = len(sequence_ids) - 1 - sequence_ids[::-1].index(1)
        start = end = 0
        if offsets[first][0] <= start_char and offsets[last][1] >= end_char:
            while first < len(offsets) and offsets[first][0] <= start_char:
                first += 1
            while offsets[last][1] >= end_char:
                last -= 1
            start, end = first - 1, last + 1
        features.append((out["input_ids"][item], start, end))
    return features


@pytest.mark.parametrize("places", [(0, 0), (11, 13), (30, 31), (57, 59)])
def test_features_equal_those_of_transformers(
    places: tuple[int, int], tokenizer: PreTrainedTokenizerFast
) -> None:
    words = long_context()
    answers, context, question = answer_at(words, *places), " ".join(words), "a cat saw"
    data = make_head(tokenizer).encode(Examples([(question, context)], column([answers])))
    assert reference(question, context, answers, tokenizer) == [
        (data.input_ids[item].tolist(), *targets(data)[item, :2].tolist())
        for item in range(data.num_items)
    ]


def test_long_questions_are_truncated(tokenizer: PreTrainedTokenizerFast) -> None:
    examples = Examples([("cat " * 40, "the dog"), ("cat", "the dog")], column([NONE, NONE]))
    data = make_head(tokenizer).encode(examples)
    assert data.truncated == 0.5
    assert data.input_ids[0].tolist().count(tokenizer.convert_tokens_to_ids("cat")) == 16
    assert data.input_ids.lengths.max() <= 32


def test_windows_with_little_context(tokenizer: PreTrainedTokenizerFast) -> None:
    """The declared overlap would leave a step of zero."""
    words = long_context()
    examples = Examples([("cat saw", " ".join(words))], column([answer_at(words, 7, 7)]))
    data = make_head(tokenizer, length=12, stride=64).encode(examples)
    assert data.positions is not None
    ends = data.positions.values.reshape(-1, 2)[:, 1]
    assert ends.max() == len(" ".join(words)) and data.num_items < 40


def test_inputs_without_room_for_the_context_are_refused(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    """A template of four special tokens, and a question of half of the tokens."""
    examples = Examples([("cat aingat aingat aingat", "the dog")], column([NONE]))
    template = processors.TemplateProcessing(
        single="$A [SEP]",
        pair="[CLS] $A [SEP] [SEP] $B [SEP]",  # RoBERTa's
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    wide = copy.deepcopy(tokenizer)
    wide.backend_tokenizer.post_processor = template
    with pytest.raises(ValueError, match="max_sequence_length of 8 leaves no room for the text"):
        make_head(wide, length=8).encode(examples)


def test_the_loss_is_that_of_bert(tokenizer: PreTrainedTokenizerFast) -> None:
    head = make_head(tokenizer)
    backbone = make_backbone("bert", "bidirectional", tokenizer)
    model = head.make_model(backbone, ADAPTATIONS["full"]).eval()
    assert isinstance(model, Classifier)
    config = backbone.network.config
    assert isinstance(config, BertConfig)
    theirs = BertForQuestionAnswering(config).eval()
    theirs.bert.load_state_dict(backbone.network.base_model.state_dict(), strict=False)
    theirs.qa_outputs.load_state_dict(model.head.state_dict())
    pair = ("a cat", "the dog saw rain")
    examples = Examples([pair, pair], column([Answers(("dog saw",), (4,)), NONE]))
    batch = head.collate(head.encode(examples), np.arange(2))
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    starts, ends = batch["labels"].unbind(1)
    with torch.no_grad():
        out = theirs(**inputs, start_positions=starts, end_positions=ends)
        mine = model(batch)
    torch.testing.assert_close(mine[..., 0], out.start_logits)
    torch.testing.assert_close(mine[..., 1], out.end_logits)
    torch.testing.assert_close(head.loss(mine, batch), out.loss)


def test_the_best_span_by_brute_force(tokenizer: PreTrainedTokenizerFast) -> None:
    head = make_head(tokenizer, length=96)
    words = long_context(60)
    data = head.encode(Examples([("a cat", " ".join(words))], column([NONE])))
    batch = head.collate(data, np.arange(1))
    rng = torch.Generator().manual_seed(0)
    for trial in range(20):
        outputs = torch.randn(*batch["input_ids"].shape, 2, generator=rng)
        outputs[:, :4] += 9.0  # what is not of the context is no answer
        (read,) = head.decode(outputs, batch)
        inside = torch.nonzero(batch["context"][0])[:, 0].tolist()
        starts = sorted(inside, key=lambda i: -outputs[0, i, 0])[:20]
        ends = sorted(inside, key=lambda i: -outputs[0, i, 1])[:20]
        pairs = [(i, j) for i in starts for j in ends if i <= j < i + MAX_ANSWER]
        best = max(pairs, key=lambda ij: outputs[0, ij[0], 0] + outputs[0, ij[1], 1])
        assert (read.start, read.end) == best, trial
        assert read.null == pytest.approx(outputs[0, 0].sum().item())


def test_the_best_of_all_windows_against_the_least_null(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    head = make_head(tokenizer)
    words = long_context()
    text = " ".join(words)
    examples = Examples([("a cat saw", text)], column([NONE]))
    data = head.encode(examples)

    def answer(*windows: Span) -> str:
        rest = [Span(99.0, -99.0, 5, 5)] * (data.num_items - len(windows))
        return str(head.predictions([*windows, *rest], data, examples)[0])

    assert data.positions is not None
    second = data.positions[1].reshape(-1, 2)
    assert answer(Span(1, 2, 5, 5), Span(3, 4, 6, 8)) == text[second[6, 0] : second[8, 1]]
    assert answer(Span(1, 2, 5, 6), Span(0, 1, 6, 8)) == " ".join(words[:2])
    assert answer(Span(2.5, 2, 5, 6), Span(3, 1, 6, 8)) == ""
    assert answer(Span(2, 2, 5, 5), Span(3, 1, 6, 8)) == words[0]  # the threshold is 0


def test_no_answer_needs_unanswerable_training_data(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    """A window without the answer does not make a question unanswerable."""
    head = make_head(tokenizer)
    words = long_context()
    answered = Examples([("a cat saw", " ".join(words))], column([answer_at(words, 3, 3)]))
    for label, abstains in ((answered.labels, False), (column([NONE]), True)):
        examples = Examples(answered.texts, label)
        data = head.encode(examples)
        assert (targets(data)[:, 0] == 0).any()
        model = head.make_model(
            make_backbone("bert", "bidirectional", tokenizer), ADAPTATIONS["full"]
        )
        assert isinstance(model, SpanFinder) and isinstance(model.head, nn.Linear)
        with torch.no_grad():
            model.head.weight.zero_()
        module = FinetuningModule(model, head.loss, Finetune(), 1, seed=0).train()
        module.update_loss(head.collate(data, np.arange(data.num_items)), 0)
        assert model.may_abstain.item() is abstains
        other = head.make_model(
            make_backbone("bert", "bidirectional", tokenizer), ADAPTATIONS["full"]
        )
        assert isinstance(other, SpanFinder) and isinstance(other.head, nn.Linear)
        other.load_state_dict(model.state_dict())  # as when the best epoch is taken
        with torch.no_grad():  # by its scores, position 0 wins
            other.head.weight.zero_()
        reads = head.predict_batch(other.eval(), head.collate(data, np.arange(data.num_items)))
        assert all((read.null > -np.inf) is abstains for read in reads)


def test_position_0_depends_on_all_tokens(tokenizer: PreTrainedTokenizerFast) -> None:
    head = make_head(tokenizer)
    texts: list[tuple[str, ...]] = [("a cat", "the dog saw rain"), ("a cat", "the dog saw the")]
    data = head.encode(Examples(texts, column([NONE, NONE])))
    for family, reading in (("gpt2", "causal"), ("bart", "encoder_decoder"), ("elmo", "bilm")):
        model = head.make_model(
            make_backbone(family, reading, tokenizer), ADAPTATIONS["full"]
        ).eval()
        with torch.no_grad():
            first, second = model(head.collate(data, np.arange(2)))[:, 0]
        assert (first - second).abs().max() > 1e-4


def test_an_answer_is_a_span_of_the_context(tokenizer: PreTrainedTokenizerFast) -> None:
    """With its capitals and spaces."""
    head = make_head(tokenizer)
    examples = Examples([("a cat", "The  DOG saw Rain")], column([NONE]))
    data: Encoded = head.encode(examples)
    assert head.predictions([Span(0, 1, 4, 5)], data, examples).tolist() == ["The  DOG"]
    model = head.make_model(make_backbone("bert", "bidirectional", tokenizer), ADAPTATIONS["full"])
    (found,) = predict(model, head, data, examples)
    assert found and found in examples.texts[0][1]
