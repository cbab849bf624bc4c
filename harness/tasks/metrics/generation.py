"""Metrics of generated texts: ROUGE (Lin 2004) and BLEU (Papineni et al. 2002; Post 2018).

The label of an example is a tuple of one or more references. torchmetrics has no sacreBLEU with its
default smoothing, and takes the sentences of ROUGE-Lsum from a model of NLTK instead of the lines,
so that these are of sacreBLEU and rouge-score.
"""

import re
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.tasks.metrics.metric import (
    Array,
    Groups,
    Metric,
    Names,
    divide,
    double_precision,
    mean_metric,
)

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU

ORDERS = 4
"""Maximum n-gram order of BLEU."""


def rouge(kind: str) -> Metric:
    """The mean F-measure over examples, each with its best reference; a text is one sequence."""

    def scores(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
        from torchmetrics.functional.text import rouge_score

        pairs = zip(labels, predictions, strict=True)
        with double_precision():
            found = [rouge_score(str(p), [list(gold)], rouge_keys=kind) for gold, p in pairs]
        return np.array([float(one[f"{kind}_fmeasure"]) for one in found])

    note = f"F-measure of torchmetrics {version('torchmetrics')}, no stemmer"
    return mean_metric(kind, scores, note)


def rouge_lsum() -> Metric:
    """As `rouge`, with lines as sentences and the union of their common subsequences, as is usual
    for summaries."""

    def scores(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
        from rouge_score.rouge_scorer import RougeScorer

        scorer = RougeScorer(["rougeLsum"], use_stemmer=False)
        pairs = zip(labels, predictions, strict=True)
        found = [scorer.score_multi(list(gold), str(p))["rougeLsum"] for gold, p in pairs]
        return np.array([one.fmeasure for one in found])

    note = f"F-measure of rouge-score {version('rouge-score')}, no stemmer, sentences by newline"
    return mean_metric("rougeLsum", scores, note)


def bleu(name: str, tokenize: str) -> Metric:
    """Corpus BLEU in 0..1."""

    def function(labels: Array, predictions: Array, groups: Groups, names: Names) -> float:
        most = max(len(gold) for gold in labels)
        references: list[Any] = [  # None for examples with fewer references than others
            [gold[place] if place < len(gold) else None for gold in labels] for place in range(most)
        ]
        texts = [str(prediction) for prediction in predictions]
        return float(_bleu_scorer(tokenize).corpus_score(texts, references).score) / 100

    def counts(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
        scorer = _bleu_scorer(tokenize, sentences=True)
        pairs = zip(labels, predictions, strict=True)
        found = [scorer.sentence_score(str(text), list(gold)) for gold, text in pairs]
        rows = [(*one.counts, *one.totals, one.sys_len, one.ref_len) for one in found]
        return np.array(rows, dtype=np.float64)

    settings = f"case:mixed|eff:no|tok:{tokenize}|smooth:exp|version:{version('sacrebleu')}"
    return Metric(name, function, counts, bleu_from_counts, note=f"sacreBLEU {settings}")


def bleu_smoothed() -> Metric:
    """The mean over examples of BLEU of one text, with 1 added to the counts of the orders above
    the first (Lin and Och 2004) and to both lengths of the brevity penalty, as in the evaluator of
    CodeXGLUE's code-to-text (Lu et al. 2021; microsoft/CodeXGLUE, evaluator.py)."""

    def score(gold: tuple[str, ...], text: str) -> float:
        references = [_code_words(one) for one in gold]
        scorer = _bleu_scorer("none", sentences=True, smooth="add-k")
        found = scorer.sentence_score(_code_words(text), references)
        if not found.counts[0]:
            return 0.0
        shortest = min(len(one.split()) for one in references)
        penalty = min(0.0, 1 - (shortest + 1) / (found.sys_len + 1))
        return float(np.exp(np.log(np.array(found.precisions) / 100).mean() + penalty))

    def scores(labels: Array, predictions: Array, groups: Groups, names: Names) -> Array:
        pairs = zip(labels, predictions, strict=True)
        return np.array([score(gold, str(text)) for gold, text in pairs])

    note = f"mean by text, smooth:add-1, CodeXGLUE's words|version:{version('sacrebleu')}"
    return mean_metric("bleu_smoothed", scores, note)


def bleu_from_counts(sums: Array) -> Array:
    """Corpus BLEU from summed statistics, as in sacreBLEU's `compute_bleu`.

    The k-th order without a match counts as 2^-k matches (Chen and Cherry 2014, method 3, "exp");
    without any match the score is 0.

    Args:
        sums: [..., 2 x ORDERS + 2]: matching n-grams and n-grams by order, then the lengths of the
            predictions and of the references in words.
    """
    correct, total = sums[..., :ORDERS], sums[..., ORDERS : 2 * ORDERS]
    length, reference = sums[..., -2], sums[..., -1]
    none = correct == 0
    matches = np.where(none, 0.5 ** np.cumsum(none, axis=-1), correct)
    precisions = divide(matches, total)
    scored = np.any(correct > 0, axis=-1) & np.all(precisions > 0, axis=-1)
    logs = np.log(np.where(scored[..., None], precisions, 1.0)).mean(axis=-1)
    brevity = np.minimum(0.0, 1 - divide(reference, length))
    return np.asarray(np.where(scored, np.exp(logs + brevity), 0.0))


def _code_words(text: str) -> str:
    """The words of a text in lower case, separated by spaces; punctuation and the underscores of
    names are words of their own."""
    return " ".join(re.findall(r"[^\W_]+|[^\w\s]|_", text.lower()))


@lru_cache
def _bleu_scorer(tokenize: str, sentences: bool = False, smooth: str = "exp") -> "BLEU":
    from sacrebleu.metrics import BLEU

    # `force` and `effective_order` only silence warnings here, about texts that look tokenised and
    # about scores of single sentences, from which only counts and precisions are used.
    return BLEU(tokenize=tokenize, smooth_method=smooth, force=True, effective_order=sentences)


TEXT_METRICS: tuple[Metric, ...] = (
    *(rouge(kind) for kind in ("rouge1", "rouge2", "rougeL")),
    rouge_lsum(),
    bleu("bleu", "13a"),
    bleu("bleu_intl", "intl"),
    bleu_smoothed(),
)
