"""Coreference metrics against worked examples of the papers, and against definitions by mention,
link and permutation."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.tasks.metrics import METRICS
from harness.tasks.metrics.coreference import MEASURES, entities

TAGS = ("O", *(f"B-{number}" for number in range(1, 13)))
MENTIONS = "123456789ABC"
TRUTH = "12345 67 89ABC"


def tagged(clusters, mentions=MENTIONS):
    """Tags of a document in which each mention is a word."""
    owner = {name: number for number, one in enumerate(clusters.split(), start=1) for name in one}
    return tuple(owner.get(name, 0) for name in mentions)


def scores(measure, key, response, mentions=MENTIONS):
    """Recall, precision and F1."""
    gold, found = tagged(key, mentions), tagged(response, mentions)
    counts = METRICS[measure].counts([gold], [found], None, TAGS)[0]
    f1 = METRICS[measure]([gold], [found], None, TAGS)
    return counts[0] / counts[1], counts[2] / counts[3], f1


@pytest.mark.parametrize(
    ("measure", "recall", "precision", "f1"),
    [
        ("muc", 0.40, 0.40, 0.40),
        ("b_cubed", 0.42, 0.50, 0.46),
        ("ceaf_e", 0.65, 0.43, 0.52),
    ],
)
def test_the_example_of_pradhan_et_al(measure, recall, precision, f1):
    """2014, section 4: key {a,b,c}, {d,e,f,g}; response {a,b}, {c,d}, {f,g,h,i}."""
    found = scores(measure, "abc defg", "ab cd fghi", "abcdefghi")
    assert found == pytest.approx((recall, precision, f1), abs=0.006)


def test_the_mean_of_that_example():
    gold, found = tagged("abc defg", "abcdefghi"), tagged("ab cd fghi", "abcdefghi")
    expected = (0.4 + 2 * 0.5 * 5 / 12 / (0.5 + 5 / 12) + 0.52) / 3
    assert METRICS["coref_f1"]([gold], [found], None, TAGS) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("response", "recall"),
    [("AB CD", 2 / 3), ("AB", 1 / 3), ("ABCD", 1), ("", 0)],
)
def test_muc_counts_missing_links(response, recall):
    """Vilain et al. 1995, section 3: of a key with three links."""
    gold, found = tagged("ABCD", "ABCD"), tagged(response, "ABCD")
    counts = METRICS["muc"].counts([gold], [found], None, TAGS)[0]
    assert counts[0] / counts[1] == pytest.approx(recall)


@pytest.mark.parametrize(
    ("response", "muc", "b_cubed"), [("12345 6789ABC", 0.9, 0.762), ("1234589ABC 67", 0.9, 0.583)]
)
def test_the_examples_of_bagga_and_baldwin(response, muc, b_cubed):
    """1998: MUC does not see which entities were joined, B-cubed does (precision 76 and 58 %)."""
    assert scores("muc", TRUTH, response)[:2] == pytest.approx((1, muc), abs=5e-4)
    assert scores("b_cubed", TRUTH, response)[:2] == pytest.approx((1, b_cubed), abs=5e-4)


@pytest.mark.parametrize(
    ("response", "f1"),
    [
        ("12345 6789ABC", 0.733),
        ("1234589ABC 67", 0.667),
        ("123456789ABC", 0.294),
        (" ".join(MENTIONS), 0.178),
    ],
)
def test_the_examples_of_luo(response, f1):
    """2005, table 1, column of phi 4."""
    assert scores("ceaf_e", TRUTH, response)[2] == pytest.approx(f1, abs=5e-4)


def links(one, others):
    """Recall of `muc` by links: a spanning tree of `one`, less the joins that `others` lack."""
    parent = {mention: mention for mention in one}

    def root(mention):
        return mention if parent[mention] == mention else root(parent[mention])

    for other in others:
        shared = sorted(one & other)
        for mention in shared[1:]:
            parent[root(mention)] = root(shared[0])
    return len(one) - sum(parent[mention] == mention for mention in one), len(one) - 1


def of_mentions(mention, these, others):
    (own,) = (one for one in these if mention in one)
    other = next((one for one in others if mention in one), set())
    return len(own & other) / len(own)


def aligned(these, others):
    """The best similarity of all alignments."""
    short, long = sorted((these, others), key=len)
    return max(
        (
            sum(2 * len(a & b) / (len(a) + len(b)) for a, b in zip(short, order, strict=True))
            for order in permutations(long, len(short))
        ),
        default=0.0,
    )


documents = st.integers(0, 9).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(0, 4), min_size=size, max_size=size)] * 2)
)


@given(documents)
@settings(deadline=None)
def test_measures_equal_their_definitions(document):
    these, others = (entities([TAGS[tag] for tag in tags]) for tags in document)
    pairs = [links(one, others) for one in these]
    assert MEASURES["muc"](these, others) == (sum(n for n, _ in pairs), sum(d for _, d in pairs))
    shares = [of_mentions(m, these, others) for one in these for m in one]
    assert MEASURES["b_cubed"](these, others) == pytest.approx((sum(shares), len(shares)))
    assert MEASURES["ceaf_e"](these, others) == pytest.approx((aligned(these, others), len(these)))


@given(st.lists(documents, min_size=1, max_size=4), st.permutations(range(1, 5)))
@settings(deadline=None)
def test_numbers_of_entities_change_nothing(rows, order):
    labels, predictions = zip(*((tuple(a), tuple(b)) for a, b in rows), strict=True)
    other = [tuple(order[tag - 1] if tag else 0 for tag in tags) for tags in predictions]
    first, second = (METRICS["coref_f1"](labels, p, None, TAGS) for p in (predictions, other))
    assert first == pytest.approx(second)


def test_documents_are_summed_before_they_are_divided():
    """By hand: MUC recalls 1 of 1 and 0 of 3 links, and predicts 1."""
    labels, predictions = [(1, 1), (1, 1, 1, 1)], [(1, 1), (0, 0, 0, 0)]
    assert METRICS["muc"](labels, predictions, None, TAGS) == pytest.approx(2 * 1 * 0.25 / 1.25)


def test_a_mention_is_a_span():
    names = ("O", "B-1", "I-1", "B-2", "I-2")
    assert entities([names[tag] for tag in (1, 2, 0, 1, 3, 4)]) == [{(0, 1), (3, 3)}, {(4, 5)}]
    assert METRICS["b_cubed"]([(1, 2, 0, 1)], [(1, 0, 0, 1)], None, names) == pytest.approx(0.25)


def test_entities_of_one_mention_have_no_links():
    assert METRICS["muc"]([(1, 2)], [(1, 2)], None, TAGS) == 0
    assert METRICS["b_cubed"]([(1, 2)], [(1, 2)], None, TAGS) == 1
    assert METRICS["ceaf_e"]([(1, 2)], [(1, 2)], None, TAGS) == 1


def test_nothing_scores_zero_and_not_an_error():
    for name in ("coref_f1", *MEASURES):
        assert METRICS[name]([(1, 1)], [(0, 0)], None, TAGS) == 0
        assert METRICS[name]([(0, 0)], [(0, 0)], None, TAGS) == 0


@given(documents)
@settings(deadline=None)
def test_mentions_score_as_tags(document):
    """Each mention a word; numbers of words are far apart, and entities in any order."""
    tags = [[tuple(side)] for side in document]
    mentions = [
        [tuple((9 - e, 7 * n, 7 * n) for n, e in enumerate(side) if e)] for side in document
    ]
    for name in ("coref_f1", *MEASURES):
        assert METRICS[name](*mentions) == METRICS[name](*tags, None, TAGS)


def test_nested_mentions_are_two():
    gold, found = [((0, 0, 4), (1, 3, 4), (1, 6, 6))], [((0, 0, 4), (0, 3, 4), (0, 6, 6))]
    assert METRICS["muc"](gold, found) == pytest.approx(2 * 1 * 0.5 / 1.5)
    assert METRICS["b_cubed"].counts(gold, found, None, ())[0].tolist() == [3, 3, 1 / 3 + 4 / 3, 3]


def test_names_of_the_tags_are_needed():
    with pytest.raises(ValueError, match=r"mentions \(entity, first word, last word\), or tags"):
        METRICS["coref_f1"]([(0,)], [(0,)])
