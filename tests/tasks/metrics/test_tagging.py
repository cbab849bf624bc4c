"""Tags and entities against entities read off by hand-written rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tasks.metrics import METRICS

TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
tags = st.integers(0, 4)
corpora = st.lists(
    st.lists(st.tuples(tags, tags), min_size=1, max_size=7), min_size=1, max_size=5
).map(lambda rows: [[tuple(side) for side in zip(*row, strict=True)] for row in rows])


def chunks(sentence, strict):
    """(type, first, last) of entities; one that does not begin with B- is none if `strict`."""
    found, start = set(), None
    for place, tag in enumerate([*sentence, 0]):
        mark, kind = TAGS[tag][0], TAGS[tag][2:]
        if start is not None and not (mark == "I" and kind == TAGS[sentence[start]][2:]):
            found.add((TAGS[sentence[start]][2:], start, place - 1))
            start = None
        if mark == "B" or (mark == "I" and start is None and not strict):
            start = place
    return found


def brute_force(corpus, strict):
    """F1 over all sentences of [true, predicted]."""
    sides = [
        {(row, *chunk) for row, pair in enumerate(corpus) for chunk in chunks(pair[side], strict)}
        for side in (0, 1)
    ]
    total = len(sides[0]) + len(sides[1])
    return 2 * len(sides[0] & sides[1]) / total if total else 0.0


@given(corpora)
def test_entities_equal_hand_written_rules(corpus):
    labels, predictions = zip(*corpus, strict=True)
    for name, strict in (("entity_f1", False), ("entity_f1_strict", True)):
        found = METRICS[name](labels, predictions, None, TAGS)
        assert found == pytest.approx(brute_force(corpus, strict), abs=1e-9)
    flat = [np.concatenate(side) for side in (labels, predictions)]
    expected = np.mean(flat[0] == flat[1])
    assert METRICS["accuracy_tags"](labels, predictions) == pytest.approx(expected, abs=1e-9)


def test_an_entity_that_begins_with_i_is_none_if_strict():
    same = [(2, 2, 0)]  # I-PER I-PER O
    assert METRICS["entity_f1"](same, same, None, TAGS) == 1.0
    assert METRICS["entity_f1_strict"](same, same, None, TAGS) == 0.0


def test_accuracy_counts_words_and_not_sentences():
    assert METRICS["accuracy_tags"]([(0, 0, 0), (1,)], [(0, 0, 0), (2,)]) == 0.75


def test_no_entities_score_zero_and_not_an_error():
    for name in ("entity_f1", "entity_f1_strict"):
        assert METRICS[name]([(0, 0)], [(0, 0)], None, TAGS) == 0.0


def test_a_tag_that_is_none_is_wrong_and_ends_an_entity():
    assert METRICS["accuracy_tags"]([(0, 1)], [(-1, 1)], None, TAGS) == 0.5
    # B-PER I-PER I-PER against B-PER, no tag, I-PER: entities 0-2 against 0-0 and 2-2
    assert METRICS["entity_f1"]([(1, 2, 2)], [(1, -1, 2)], None, TAGS) == 0.0


def test_predictions_may_be_lists_or_arrays_as_a_file_gives_them():
    for kind in (list, np.array):
        assert (
            METRICS["entity_f1"]([(1, 2), (3, 4)], [kind([1, 2]), kind([3, 0])], None, TAGS) == 0.5
        )


def test_a_missing_tag_and_missing_names_are_refused():
    with pytest.raises(
        ValueError, match=r"sentence 1 needs one tag for each word.*2 tags for 3 words"
    ):
        METRICS["accuracy_tags"]([(0,), (0, 0, 0)], [(0,), (0, 0)])
    with pytest.raises(ValueError, match="names of the tags"):
        METRICS["entity_f1"]([(0,)], [(0,)])


def test_sentences_without_words_score_zero():
    assert METRICS["accuracy_tags"]([(), ()], [(), ()]) == 0.0
