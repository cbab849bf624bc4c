"""Coreference: scores against the paper's equations written out, losses by hand, and documents in
segments."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads.coreference import Coreference
from harness.finetuning.heads.mention_scores import (
    MAX_WORDS,
    NONE,
    Spans,
    WordScores,
    WordVectors,
    antecedent_losses,
    kept_spans,
    linked,
)
from harness.finetuning.inputs import Encoded
from harness.finetuning.protocol import Protocol
from harness.tasks.examples import Examples, Mention, column
from tests.finetuning.heads.test_conformance import make_backbone, make_task, tokenizer  # noqa: F401

SIZE = 5


def words_of(*sentences: int) -> Tensor:
    """[W, 2] segment and sentence of the words of sentences of these lengths."""
    return torch.tensor([(0, n) for n, length in enumerate(sentences) for _ in range(length)])


def scorer() -> tuple[WordScores, Tensor, Tensor]:
    """Layers, and states of first and last tokens of seven words [7, SIZE]."""
    torch.manual_seed(0)
    network = WordScores(nn.Linear, SIZE, dropout=0.0).double()
    return network, torch.randn(7, SIZE).double(), torch.randn(7, SIZE).double()


def by_equations(network: WordScores, first: Tensor, last: Tensor) -> tuple[Any, Any]:
    """Functions f_m of a span and f of an antecedent c and a mention q: Kirstain et al. 2021,
    section 3, with one matrix for each bilinear form."""
    m_s, m_e = network.mention_start(first), network.mention_end(last)
    a_s, a_e = network.antecedent_start(first), network.antecedent_end(last)
    v_s, v_e, b_m = network.start_score, network.end_score, network.mention
    b_ss, b_es = network.from_start.weight.split(SIZE)
    b_se, b_ee = network.from_end.weight.split(SIZE)

    def mention(q: tuple[int, int]) -> Tensor:
        s, e = q
        product = m_s[s] @ b_m.weight @ m_e[e] + m_s[s] @ b_m.bias
        return (v_s(m_s[s]) + v_e(m_e[e]))[0] + product

    def antecedent(c: tuple[int, int], q: tuple[int, int]) -> Tensor:
        start, end = a_s[c[0]], a_e[c[1]]
        from_start, from_end = a_s[q[0]], a_e[q[1]]
        found = start @ b_ss @ from_start + start @ b_se @ from_end
        found = found + end @ b_es @ from_start + end @ b_ee @ from_end
        bias = torch.cat((start, end)) @ (network.from_start.bias + network.from_end.bias)
        return mention(c) + mention(q) + found + bias

    return mention, antecedent


def test_scores_are_those_of_the_equations() -> None:
    network, first, last = scorer()
    sentences = words_of(4, 3)
    spans = kept_spans(WordVectors.of(network(first, last)), sentences)
    mention, antecedent = by_equations(network, first, last)
    candidates = [(s, e) for s, e in product(range(7), repeat=2) if s <= e and (s < 4) == (e < 4)]
    best = sorted(candidates, key=lambda span: -mention(span).item())[:2]  # 0.4 of 7 words
    kept = list(zip(spans.first.tolist(), spans.last.tolist(), strict=True))
    assert kept == sorted(best)
    expected = [[0.0, -torch.inf, -torch.inf], [0.0, antecedent(*kept).item(), -torch.inf]]
    torch.testing.assert_close(spans.antecedents, torch.tensor(expected).double())


def outputs_of(num_words: int, *spans: tuple[int, int]) -> Tensor:
    """[W, 10] outputs with which these spans score highest, the first one most."""
    outputs = torch.full((num_words, 2 + 8), 0.0)
    outputs[:, :2] = -90.0
    for place, (first, last) in enumerate(spans):
        outputs[first, 0] = outputs[last, 1] = 20.0 - place
    return outputs


def test_kept_spans_are_in_the_order_of_the_text() -> None:
    """By the first word, then by the last one, whatever their scores."""
    spans = kept_spans(WordVectors.of(outputs_of(10, (1, 2), (0, 5))), words_of(10))
    kept = list(zip(spans.first.tolist(), spans.last.tolist(), strict=True))
    assert kept == [(0, 2), (0, 5), (1, 2), (1, 5)]


def test_a_document_of_one_word_has_a_span() -> None:
    spans = kept_spans(WordVectors.of(torch.zeros(1, 2 + 8)), words_of(1))
    assert spans.first.tolist() == [0] and spans.antecedents.tolist() == [[0.0, -torch.inf]]


def test_spans_are_neither_long_nor_of_two_sentences() -> None:
    length = MAX_WORDS + 5
    outputs = torch.zeros(2 * length, 2 + 8 * SIZE)
    sentences = words_of(length, length)
    outputs[0, 0] = outputs[length - 1, 1] = 9.0  # the longest span of the first sentence
    outputs[length - 2, 0] = outputs[length, 1] = 9.0  # one of both sentences
    spans = kept_spans(WordVectors.of(outputs), sentences)
    assert len(spans.first) == int(0.4 * 2 * length)
    assert ((spans.last - spans.first) < MAX_WORDS).all()
    assert ((spans.first < length) == (spans.last < length)).all()


def test_segments_have_sentences_of_their_own() -> None:
    places = torch.tensor([(0, 0), (1, 0)])
    spans = kept_spans(WordVectors.of(outputs_of(2, (0, 1))), places)
    assert (spans.first == spans.last).all()
    same = kept_spans(WordVectors.of(outputs_of(2, (0, 1))), words_of(2))
    assert (same.first.item(), same.last.item()) == (0, 1)


def spans_of(scores: list[list[float]]) -> Spans:
    """Spans with these scores of their antecedents, each row a span: none, the first, ..."""
    size = len(scores)
    full = torch.full((size, size + 1), -torch.inf)
    for row, values in enumerate(scores):
        full[row, : len(values)] = torch.tensor(values)
    return Spans(torch.arange(size), torch.arange(size) + 1, full)


def test_losses_by_hand() -> None:
    """Four spans, of which the second is no mention: the sum of the probabilities of the right
    antecedents."""
    scores = [[0.0], [0.0, 1.0], [0.0, 2.0, -1.0], [0.0, 0.5, 3.0, 1.5]]
    exp = [np.exp(row) for row in scores]
    right = [1.0, exp[1][0] / exp[1].sum(), exp[2][1] / exp[2].sum()]
    right.append((exp[3][1] + exp[3][3]) / exp[3].sum())
    found = antecedent_losses(spans_of(scores), torch.tensor([7, NONE, 7, 7]))
    np.testing.assert_allclose(found, -np.log(right), atol=1e-6)


def test_spans_that_are_no_mention_are_not_one_entity() -> None:
    found = antecedent_losses(spans_of([[0.0], [0.0, 4.0]]), torch.tensor([NONE, NONE]))
    assert found[1] == pytest.approx(np.log(1 + np.exp(4)), abs=1e-5)


def test_links_make_clusters() -> None:
    """The third links to the first, the fifth to the third; the second and fourth to none."""
    scores = [[0.0], [0.0, -1.0], [0.0, 3.0, 1.0], [0.0, -1, -1, -1], [0.0, 1.0, 0.5, 2.0, 1.0]]
    assert linked(spans_of(scores)) == [(0, 0, 1), (0, 2, 3), (0, 4, 5)]
    assert linked(spans_of([[0.0]])) == []


@pytest.fixture(scope="module")
def head(tokenizer: PreTrainedTokenizerFast) -> Coreference:  # noqa: F811
    return Coreference(make_task("coreference"), Protocol(max_sequence_length=16), tokenizer)


def documents_of(data: Encoded) -> list[list[list[tuple[int, ...]]]]:
    """Of each document the segments, and of each segment sentence, first and last token of the
    words."""
    assert data.first_rows is not None and data.positions is not None
    return [
        [list(map(tuple, data.positions[row].reshape(-1, 3))) for row in range(begin, end)]
        for begin, end in pairwise(data.first_rows)
    ]


WORDS = ["the", "cat", "saw", "rain", "aingat"]
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


@given(st.lists(st.lists(sentences, min_size=1, max_size=6), min_size=1, max_size=3))
@settings(deadline=None, max_examples=40)
def test_every_word_is_in_one_segment(head: Coreference, documents: list[list[str]]) -> None:
    examples = Examples([tuple(one) for one in documents], column([()] * len(documents)))
    data = head.encode(examples)
    assert data.input_ids.lengths.max() <= 16
    read = head.tokenizer.convert_ids_to_tokens(data.input_ids.values.tolist())
    ends = np.cumsum(data.input_ids.lengths)
    rows = np.split(np.array(read, dtype=object), ends[:-1])
    row = 0
    for texts, segments in zip(documents, documents_of(data), strict=True):
        spelled = []
        for segment in segments:
            tokens = [rows[row][first : last + 1] for _, first, last in segment]
            spelled += ["".join(one).replace("##", "") for one in tokens]
            row += 1
        assert spelled == " ".join(texts).split(" ")


def test_segments_hold_whole_sentences_and_parts_of_long_ones(head: Coreference) -> None:
    short, long = "the cat saw rain", " ".join(["the"] * 20)
    data = head.encode(Examples([(short, short, short, short, long)], column([()])))
    (segments,) = documents_of(data)
    sizes = [[sum(word[0] == n for word in one) for n in {w[0] for w in one}] for one in segments]
    assert sizes == [[4, 4, 4], [4], [14], [6]]


def test_mentions_are_counted_from_the_start_of_each_document(head: Coreference) -> None:
    texts: list[tuple[str, ...]] = [("the cat saw rain", "the cat saw a dog in rain")]
    texts.append(("rain", "the rain saw rain"))
    gold = [(Mention(3, 0, 1), Mention(3, 4, 5)), (Mention(3, 0, 0), Mention(3, 1, 2))]
    data = head.encode(Examples(texts, column(gold)))
    batch = head.collate(data, np.array([1, 0]))
    assert batch["mentions"].tolist() == [[0, 3, 0, 0], [0, 3, 1, 2], [1, 3, 0, 1], [1, 3, 4, 5]]
    assert batch["words"][:, 0].bincount().tolist() == [5, 11]
    _, rows, _, firsts, _ = batch["words"].T
    tokens = head.tokenizer.convert_ids_to_tokens(batch["input_ids"][rows, firsts].tolist())
    assert tokens[1:3] == ["the", "rain"] and tokens[5:7] == ["the", "cat"]


def test_gold_entities_reach_the_loss(head: Coreference) -> None:
    """With scores that are right by hand, the loss is near 0, and the decoded mentions are those of
    the labels."""
    texts: list[tuple[str, ...]] = [("the cat saw rain", "the cat saw rain")]
    gold = [(Mention(1, 0, 1), Mention(1, 4, 5))]
    data = head.encode(Examples(texts, column(gold)))
    batch = head.collate(data, np.array([0]))
    outputs = torch.zeros(8, 2 + 8)
    start, end, query, key = 0, 1, 6, 4
    outputs[:, start] = outputs[:, end] = -60.0
    outputs[[0, 4], start] = outputs[[1, 5], end] = 10.0
    assert head.loss(outputs, batch) < 1e-6
    assert head.decode(outputs, batch) == [[(0, 0, 1), (0, 4, 5)]]
    outputs[0, key], outputs[4, query] = 9.0, -9.0  # the second no longer finds the first
    assert head.loss(outputs, batch) > 10
    assert head.decode(outputs, batch) == [[]]


def test_each_document_has_entities_of_its_own(head: Coreference) -> None:
    """The same spans are mentions of one entity in the first document, and none in the second."""
    text = ("the cat saw rain", "the cat saw rain")
    data = head.encode(Examples([text, text], column([(Mention(0, 0, 1), Mention(0, 4, 5)), ()])))
    one = outputs_of(8, (0, 1), (4, 5))
    losses = [head.loss(one, head.collate(data, np.array([item]))) for item in (0, 1)]
    both = head.loss(torch.cat((one, one)), head.collate(data, np.array([0, 1])))
    assert losses[0] < 1e-6 and losses[1] > 5
    torch.testing.assert_close(both, (losses[0] + losses[1]) / 2)


def test_a_span_ends_with_the_last_token_of_its_last_word(
    head: Coreference,
    tokenizer: PreTrainedTokenizerFast,  # noqa: F811
) -> None:
    """`aingat` has several tokens, of which only the last one changes what ends with it."""
    model = head.make_model(
        make_backbone("bert", "bidirectional", tokenizer), ADAPTATIONS["full"]
    ).eval()
    batch = head.collate(head.encode(Examples([("aingat",)], column([()]))), np.array([0]))
    _, _, _, first, last = batch["words"][0].tolist()
    assert last > first
    states = model.states(batch)
    with torch.no_grad():
        before = WordVectors.of(model.outputs(batch, states))
        states[0][0, last] += 1.0
        after = WordVectors.of(model.outputs(batch, states))
    assert torch.equal(before.start, after.start) and torch.equal(before.key_start, after.key_start)
    assert not torch.allclose(before.end, after.end)
    assert not torch.allclose(before.key_end, after.key_end)


def test_the_layers_start_like_the_backbone(
    head: Coreference,
    tokenizer: PreTrainedTokenizerFast,  # noqa: F811
) -> None:
    backbone = make_backbone("bert", "bidirectional", tokenizer)  # initializer_range 0.1
    model = head.make_model(backbone, ADAPTATIONS["full"])
    (scores,) = (part for part in model.modules() if isinstance(part, WordScores))
    layers = [layer for layer in scores.modules() if isinstance(layer, nn.Linear)]
    assert len(layers) == 9
    weights = torch.cat([layer.weight.flatten() for layer in layers])
    assert weights.std().item() == pytest.approx(0.1, rel=0.05)
    assert not any(layer.bias.any() for layer in layers)


def test_the_number_of_parameters() -> None:
    network = WordScores(nn.Linear, 4, dropout=0.0)
    count = sum(weight.numel() for weight in network.parameters())
    hidden, scores, forms = 4 * (20 + 8), 2 * 5, 20 + 2 * (4 * 8 + 8)
    assert count == hidden + scores + forms
