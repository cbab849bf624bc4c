"""ROUGE against rouge-score, BLEU by hand, and both against torchmetrics."""

import math
from collections import Counter
from functools import reduce
from operator import or_

import nltk
import pytest
import torch
import torchmetrics.functional.text.rouge as rouge_oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tokenize.punkt import PunktSentenceTokenizer
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU
from torchmetrics.functional.text import sacre_bleu_score

from harness.tasks.metrics import METRICS

ROUGE = ("rouge1", "rouge2", "rougeL")
words = st.sampled_from(["the", "cat", "Dog", "sat.", "on", "mat", "dogs", "café", "x-1,000", "_"])
texts = st.lists(words, max_size=8).map(" ".join)
longer = st.lists(st.sampled_from(["The", "cat", "sat", "a"]), min_size=4, max_size=9).map(" ".join)
lines = st.lists(words, min_size=1, max_size=4, unique=True).map(" ".join)


@given(st.lists(st.tuples(st.lists(texts, min_size=1, max_size=3), texts), min_size=1, max_size=4))
@settings(deadline=None)
def test_rouge_equals_rouge_score(rows):
    scorer = RougeScorer(ROUGE, use_stemmer=False)
    labels, predictions = zip(*rows, strict=True)
    each = [scorer.score_multi(gold, text) for gold, text in rows]
    for kind in ROUGE:
        expected = sum(one[kind].fmeasure for one in each) / len(each)
        assert METRICS[kind](labels, predictions) == pytest.approx(expected, abs=1e-12)


def test_lines_are_no_sentences_of_torchmetrics(monkeypatch):
    """Without full stops, NLTK takes the text as one sentence."""
    monkeypatch.setattr(rouge_oracle, "_ensure_nltk_punkt_is_downloaded", lambda: None)
    monkeypatch.setattr(nltk, "sent_tokenize", PunktSentenceTokenizer().tokenize)
    gold, text = "a b c\nd e\nf g h", "d e\na b c\nx y z"
    theirs = rouge_oracle.rouge_score(text, gold, rouge_keys="rougeLsum")["rougeLsum_fmeasure"]
    assert float(theirs) == pytest.approx(3 / 8)
    assert METRICS["rougeLsum"]([(gold,)], [text]) == pytest.approx(5 / 8)


@pytest.mark.parametrize("seed", range(5))
def test_rouge_of_summaries_equals_torchmetrics(monkeypatch, seed):
    monkeypatch.setattr(rouge_oracle, "_split_sentence", lambda text: text.split("\n"))
    order = [(seed + place * 3) % 5 for place in range(5)]
    sentences = ["one cat sat", "two dogs ran far", "it rained", "all went home", "night fell"]
    gold = "\n".join(sentences[:4])
    text = "\n".join(sentences[place] for place in order[:3])
    theirs = rouge_oracle.rouge_score(text, gold, rouge_keys="rougeLsum")["rougeLsum_fmeasure"]
    assert METRICS["rougeLsum"]([(gold,)], [text]) == pytest.approx(float(theirs), abs=1e-6)


def test_sentences_in_another_order_are_a_summary_but_not_a_sequence():
    """Two of the lines are there, exchanged: rougeL follows one of them, rougeLsum finds both."""
    gold, text = "a b c\nd e\nf g h", "d e\na b c\nx y z"
    assert METRICS["rougeL"]([(gold,)], [text]) == pytest.approx(3 / 8)
    assert METRICS["rougeLsum"]([(gold,)], [text]) == pytest.approx(5 / 8)
    flat = gold.replace("\n", " ")
    assert METRICS["rougeLsum"]([(flat,)], [text.replace("\n", " ")]) == pytest.approx(3 / 8)


def test_a_summary_counts_with_its_best_reference():
    """The second of the first text, the first of the other: 3 of 5 words and 1 of 1."""
    labels = [("x y\nz", "d e\na b c"), ("q", "a b")]
    assert METRICS["rougeLsum"](labels, ["a b c\nv w", "q"]) == pytest.approx((3 / 5 + 1) / 2)


def test_rouge_has_no_stemmer():
    assert METRICS["rouge1"]([("cats",)], ["cat"]) == 0.0


@pytest.mark.parametrize("kind", [*ROUGE, "rougeLsum", "bleu", "bleu_intl"])
def test_empty_texts_score_zero(kind):
    assert METRICS[kind]([("some text",)], [""]) == 0.0


@given(
    st.lists(st.tuples(texts.map(lambda text: [text]), texts), min_size=1, max_size=5),
    st.sampled_from(["13a", "intl"]),
)
@settings(deadline=None)
def test_bleu_equals_torchmetrics_where_nothing_is_smoothed(rows, tokenize):
    # One reference: of two that are as near in length, sacreBLEU takes the shorter one and
    # torchmetrics the first.
    shared = (["the cat sat on"], "the cat sat on")  # a match of each order
    labels, predictions = zip(*rows, shared, strict=True)
    theirs = sacre_bleu_score(predictions, labels, tokenize=tokenize)
    found = METRICS["bleu" if tokenize == "13a" else "bleu_intl"](labels, predictions)
    assert found == pytest.approx(float(theirs), abs=1e-5)


def ngrams(text, order):
    words = text.split()
    return Counter(tuple(words[at : at + order]) for at in range(len(words) - order + 1))


def brute_force_bleu(labels, predictions):
    """BLEU of texts without punctuation, by Papineni et al. 2002 and Chen and Cherry 2014."""
    logs, halvings = [], 0
    for order in (1, 2, 3, 4):
        found = total = 0
        for gold, text in zip(labels, predictions, strict=True):
            ours = ngrams(text, order)
            most = reduce(or_, (ngrams(one, order) for one in gold))
            found, total = found + (ours & most).total(), total + ours.total()
        if not total or (order == 1 and not found):
            return 0.0
        halvings += not found
        logs.append(math.log((found or 0.5**halvings) / total))
    written, reference = 0, 0
    for gold, text in zip(labels, predictions, strict=True):
        size = len(text.split())
        written += size
        reference += min((abs(len(one.split()) - size), len(one.split())) for one in gold)[1]
    return min(1.0, math.exp(1 - reference / written)) * math.exp(sum(logs) / 4)


plain = st.lists(st.sampled_from(["a", "b", "c"]), max_size=8).map(" ".join)


@given(st.lists(st.tuples(st.lists(plain, min_size=1, max_size=3), plain), min_size=1, max_size=5))
@settings(deadline=None)
def test_bleu_equals_loops_over_the_ngrams(rows):
    labels, predictions = zip(*rows, strict=True)
    expected = brute_force_bleu(labels, predictions)
    assert METRICS["bleu"](labels, predictions) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("smooth", [False, True])
def test_bleu_of_torchmetrics_has_no_exponential_smoothing(smooth):
    theirs = sacre_bleu_score(["a b x c"], [["a b c d"]], tokenize="13a", smooth=smooth)
    assert theirs == 0
    assert METRICS["bleu"]([("a b c d",)], ["a b x c"]) > 0.3


def test_bleu_of_torchmetrics_takes_the_first_of_two_references_as_near():
    gold, text = ["a b c d e f", "a b"], "a b c d"
    assert sacre_bleu_score([text], [gold]) == pytest.approx(math.exp(1 - 6 / 4))
    assert sacre_bleu_score([text], [gold[::-1]]) == pytest.approx(1.0)
    assert METRICS["bleu"]([tuple(gold)], [text]) == pytest.approx(1.0)


def test_scores_leave_the_default_precision():
    METRICS["rouge1"]([("a b",)], ["a c"])
    assert torch.get_default_dtype() == torch.float32


def test_bleu_is_smoothed_by_halves():
    """`a b c x` for `a b c d`: 3/4, 2/3, 1/2, and half of one match in 1."""
    found = METRICS["bleu"]([("a b c d",)], ["a b c x"])
    assert found == pytest.approx((3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** 0.25)
    # Two orders without a match: a half, then a quarter.
    found = METRICS["bleu"]([("a b c d",)], ["a b x c"])
    assert found == pytest.approx((3 / 4 * 1 / 3 * (1 / 2) / 2 * (1 / 4) / 1) ** 0.25)


def test_bleu_is_cut_for_brevity():
    found = METRICS["bleu"]([("a b c d e f",)], ["a b c d"])
    assert found == pytest.approx(math.exp(1 - 6 / 4))


def test_bleu_takes_the_length_of_the_nearest_reference_and_any_number_of_them():
    labels = [("a b c d e f", "a b c d"), ("x y z w",)]
    assert METRICS["bleu"](labels, ["a b c d", "x y z w"]) == pytest.approx(1.0)
    # As near as each other: the shorter one, so nothing is cut.
    assert METRICS["bleu"]([("a b c d e f", "a b")], ["a b c d"]) == pytest.approx(1.0)


def test_bleu_matches_words_of_any_reference():
    """Three of four words, one of three pairs; then a half and a quarter of a match."""
    found = METRICS["bleu"]([("a b x x", "y y c y")], ["a b c d"])
    assert found == pytest.approx((3 / 4 * 1 / 3 * (1 / 2) / 2 * (1 / 4) / 1) ** 0.25)


def test_bleu_is_of_the_corpus_and_not_a_mean_of_sentences():
    labels, predictions = [("a b c d",), ("e f g h",)], ["a b c d", "x"]
    # Orders have 4 of 5, 3 of 3, 2 of 2, 1 of 1 matches; 5 words for 8 of the references.
    assert METRICS["bleu"](labels, predictions) == pytest.approx(0.8**0.25 * math.exp(1 - 8 / 5))


def test_tokenisers_differ():
    """13a leaves the dash in a word; intl parts symbols and every punctuation from letters."""
    gold, text = "he said « yes » here", "he said «yes» here"
    assert METRICS["bleu_intl"]([(gold,)], [text]) == pytest.approx(1.0)
    assert METRICS["bleu"]([(gold,)], [text]) < 1.0


@pytest.mark.parametrize(("name", "tokenize"), [("bleu", "13a"), ("bleu_intl", "intl")])
def test_the_note_is_the_signature(name, tokenize):
    scorer = BLEU(tokenize=tokenize)
    scorer.corpus_score(["a"], [["a"]])
    signature = str(scorer.get_signature()).removeprefix("nrefs:1|")
    assert METRICS[name].note == f"sacreBLEU {signature}"


def test_only_rouge_lsum_has_sentences():
    assert METRICS["rougeLsum"].note.endswith("no stemmer, sentences by newline")
    assert METRICS["rougeL"].note.endswith("no stemmer")


@given(st.lists(st.tuples(longer, longer), min_size=1, max_size=4))
@settings(deadline=None)
def test_smoothed_bleu_equals_nltk_but_for_the_lengths(rows):
    """Lin and Och 2004 is NLTK's method 2. Its brevity penalty lacks the 1 that CodeXGLUE adds to
    both lengths, and its numbers of n-grams are at least 1: texts here have four words or more."""
    smooth = SmoothingFunction().method2
    expected = []
    for gold, text in rows:
        reference, words = gold.lower().split(), text.lower().split()
        score = sentence_bleu([reference], words, smoothing_function=smooth)
        lengths = len(reference), len(words)
        theirs, ours = (min(0.0, 1 - (lengths[0] + k) / (lengths[1] + k)) for k in (0, 1))
        expected.append(score * math.exp(ours - theirs))
    labels, predictions = [(gold,) for gold, _ in rows], [text for _, text in rows]
    found = METRICS["bleu_smoothed"](labels, predictions)
    assert found == pytest.approx(sum(expected) / len(rows), abs=1e-9)


def test_smoothed_bleu_by_hand():
    """Words of `get_name(self).` are get _ name ( self ) . in lower case."""
    score = METRICS["bleu_smoothed"]
    assert score([("Get_name(self).",)], ["get _ name ( self ) ."]) == pytest.approx(1.0)
    # 2 of 2 words, 1 + 1 of 1 + 1 pairs, 0 + 1 of 0 + 1 others; lengths 2 + 1 and 4 + 1.
    assert score([("a b c d",)], ["A b"]) == pytest.approx(math.exp(1 - 5 / 3))
    # 1 of 2 words, 0 + 1 of 1 + 1 pairs; of two references the shorter is as long as the text.
    assert score([("a b c d e", "c d")], ["a d"]) == pytest.approx((2 / 2 * 1 / 2) ** 0.25)
    assert score([("a b",)], ["c d"]) == score([("a b",)], [""]) == 0.0


@pytest.mark.parametrize("name", ["rouge1", "rougeLsum"])
def test_words_of_rouge_are_of_ascii_letters(name):
    """As docs/tasks.md says."""
    texts = ["Привет, мир", "für"]
    assert METRICS[name]([(text,) for text in texts], texts) == 0.5
