"""Bag-of-words baselines: what a task's words reveal without pretraining or word order.

Deterministic linear models with scikit-learn's defaults.

Shapes: N examples, W words.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.data.corpora.sentence_splitter import split_sentences
from harness.finetuning.baselines.predictor import Predictor
from harness.finetuning.baselines.simple import most_frequent_label, most_frequent_tag
from harness.finetuning.ranking import collection, places
from harness.tasks.examples import Examples, Mention, column
from harness.tasks.task import Task

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MAX_ITERATIONS = 1000
TOKEN = r"\w+|[^\w\s]"
"""Words, including those of one letter, and punctuation marks."""
WORD = re.compile(r"\w+")
BEYOND = ""
"""Neighbour of the first and the last word."""


def word_classes(task: Task, train: Examples) -> Predictor:
    """Logistic regression on bag-of-words features."""
    if len(np.unique(train.labels)) == 1:
        return most_frequent_label(task, train)
    features = Features(train.texts)
    model = _logistic(features(train.texts), train.labels)
    return lambda examples: model.predict(features(examples.texts)).astype(np.float64)


def word_values(task: Task, train: Examples) -> Predictor:
    """Ridge regression on bag-of-words features."""
    from sklearn.linear_model import Ridge

    features = Features(train.texts)
    model = Ridge(solver="sparse_cg").fit(features(train.texts), train.labels)
    return lambda examples: model.predict(features(examples.texts)).astype(np.float64)


def word_choices(task: Task, train: Examples) -> Predictor:
    """Logistic regression of whether a choice is correct, on the words of context and choice;
    predicts the choice with the highest score, the first of ties."""
    rows, sizes = _choice_rows(train)
    right = np.concatenate(
        [np.arange(size) == label for size, label in zip(sizes, train.labels, strict=True)]
    )
    features = Features(rows)
    model = _logistic(features(rows), right)

    def predict(examples: Examples) -> np.ndarray:
        rows, sizes = _choice_rows(examples)
        scores = np.split(model.decision_function(features(rows)), np.cumsum(sizes)[:-1])
        return np.array([one.argmax() for one in scores], dtype=np.float64)

    return predict


def overlapping_sentence(task: Task, train: Examples | None) -> Predictor:
    """The context sentence that shares most words with the question, the first of ties; never "no
    answer". A variant of the sliding window of Rajpurkar et al. 2016, section 5.1, whose candidates
    are constituents."""
    return lambda examples: column([_overlapping(*texts) for texts in examples.texts])


def word_tags(task: Task, train: Examples) -> Predictor:
    """Logistic regression on each word and its two neighbours, cased."""
    from sklearn.feature_extraction import DictVectorizer

    tags = np.array([tag for row in train.labels for tag in row])
    if len(np.unique(tags)) == 1:
        return most_frequent_tag(task, train)
    features = DictVectorizer()
    model = _logistic(features.fit_transform(_neighbours(train.texts)), tags)

    def predict(examples: Examples) -> np.ndarray:
        found = iter(model.predict(features.transform(_neighbours(examples.texts))).tolist())
        return column([tuple(next(found) for _ in words) for words in examples.texts])

    return predict


def equal_mentions(task: Task, train: Examples) -> Predictor:
    """All words that were a mention in the train set, in one entity where they are equal up to
    case; no others, and none that occur once in a document."""
    known = {
        words
        for sentences, mentions in zip(train.texts, train.labels, strict=True)
        for _, words in _found(sentences, [one[1:] for one in mentions])
    }
    longest = max((len(words.split(" ")) for words in known), default=0)

    def predict(examples: Examples) -> np.ndarray:
        return column([_equal(sentences, known, longest) for sentences in examples.texts])

    return predict


def _equal(sentences: Sequence[str], known: Collection[str], longest: int) -> tuple[Mention, ...]:
    ends = np.cumsum([len(sentence.split(" ")) for sentence in sentences])
    spans = [
        (first, last)
        for start, end in zip([0, *ends], ends, strict=False)
        for first in range(start, end)
        for last in range(first, min(first + longest, end))
    ]
    found = [(span, words) for span, words in _found(sentences, spans) if words in known]
    counts = Counter(words for _, words in found)
    numbers = {words: number for number, words in enumerate(counts)}
    return tuple(Mention(numbers[words], *span) for span, words in found if counts[words] > 1)


def _found(
    sentences: Sequence[str], spans: Iterable[tuple[int, int]]
) -> list[tuple[tuple[int, int], str]]:
    """Each span with its words in lower case."""
    words = " ".join(sentences).lower().split(" ")
    return [((first, last), " ".join(words[first : last + 1])) for first, last in spans]


def common_words(task: Task, train: Examples | None) -> Predictor:
    """Cosine of the word counts of two texts; 0 for a text without words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def predict(examples: Examples) -> np.ndarray:
        counter = TfidfVectorizer(use_idf=False, token_pattern=TOKEN)
        counter.fit(text for pair in examples.texts for text in pair)
        first, second = (counter.transform(texts) for texts in zip(*examples.texts, strict=True))
        return np.asarray(first.multiply(second).sum(1)).ravel()

    return predict


def most_common_words(task: Task, train: Examples | None) -> Predictor:
    """Documents by `common_words` with the query."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    def predict(examples: Examples) -> np.ndarray:
        counter = TfidfVectorizer(use_idf=False, token_pattern=TOKEN)
        counter.fit(text for pair in examples.texts for text in pair)
        found = collection(examples)
        queries, stored = counter.transform(found.queries), counter.transform(found.documents).T
        return places(lambda rows: (queries[rows] @ stored).toarray(), found)

    return predict


class Features:
    """Binary word features over the vocabulary of `texts`; for pairs those of the first text, the
    second and both, and their Jaccard similarity."""

    def __init__(self, texts: Sequence[tuple[str, ...]]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        self.vectorizer = CountVectorizer(binary=True, token_pattern=TOKEN)
        self.vectorizer.fit(text for example in texts for text in example)

    def __call__(self, texts: Sequence[tuple[str, ...]]) -> "csr_matrix":
        """[N, W] features, or [N, 3 W + 1] for pairs."""
        from scipy.sparse import csr_matrix, hstack

        parts = [
            self.vectorizer.transform(texts_of_side).astype(np.float64)
            for texts_of_side in zip(*texts, strict=True)
        ]
        if len(parts) == 1:
            return parts[0]
        first, second = parts
        both = first.multiply(second)
        either = (first + second - both).sum(1)
        share = csr_matrix(both.sum(1) / np.maximum(either, 1))
        return hstack([first, second, both, share], format="csr")


def _logistic(features: Any, labels: np.ndarray) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=MAX_ITERATIONS).fit(features, labels)


def _choice_rows(examples: Examples) -> tuple[list[tuple[str, ...]], list[int]]:
    """(context, choice) for every choice of every example, and the number of choices of each."""
    assert examples.choices is not None
    rows: list[tuple[str, ...]] = [
        (" ".join(texts), choice)
        for texts, choices in zip(examples.texts, examples.choices, strict=True)
        for choice in choices
    ]
    return rows, [len(choices) for choices in examples.choices]


def _overlapping(question: str, context: str) -> str:
    words = set(WORD.findall(question.lower()))
    sentences = split_sentences(context)
    shared = [len(words.intersection(WORD.findall(text.lower()))) for text in sentences]
    return sentences[int(np.argmax(shared))] if sentences else ""


def _neighbours(sentences: Sequence[tuple[str, ...]]) -> list[dict[str, str]]:
    """Features of each word of each sentence: itself, the word before and the word after."""
    found = []
    for words in sentences:
        around = (BEYOND, *words, BEYOND)
        for before, word, after in zip(around, around[1:], around[2:], strict=False):
            found.append({"before": before, "word": word, "after": after})
    return found
