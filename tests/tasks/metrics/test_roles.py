"""F1 of arguments against the rules of srl-eval.pl, written as that script does it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tasks.metrics import METRICS
from harness.tasks.metrics.roles import arguments

ROLES = ("V", "A0", "A1", "C-A1", "R-A0")
TAGS = ("O", *(f"{place}-{role}" for role in ROLES for place in "BI"))
INDEX = {tag: number for number, tag in enumerate(TAGS)}

spans = st.lists(st.tuples(st.sampled_from(("O", *ROLES)), st.integers(1, 3)), max_size=6)


def tagged(parts, size):
    """The tags of (role, words) in order, filled with O or cut to `size`."""
    words = [
        "O" if role == "O" else f"{'I' if place else 'B'}-{role}"
        for role, length in parts
        for place in range(length)
    ]
    return [*words, *["O"] * size][:size]


def score(gold, predicted):
    sides = [[tuple(INDEX[tag] for tag in tags) for tags in side] for side in (gold, predicted)]
    return METRICS["argument_f1"](*sides, None, TAGS)


def props(tags):
    """`load_SE_tagging`: arguments in order as [label, phrases]."""
    phrases = []
    for place, tag in enumerate(tags):
        if tag.startswith("B-"):
            phrases.append([tag[2:], place, place])
        elif tag.startswith("I-"):
            phrases[-1][2] = place
    args, by_type = [], {}
    for label, start, end in phrases:
        if label.startswith("C-") and label[2:] in by_type:
            by_type[label[2:]][1].append((start, end))
            continue
        arg = [label[2:] if label.startswith("C-") else label, [(start, end)]]
        args.append(arg)
        by_type[arg[0]] = arg
    return args


def srl_eval(gold, predicted):
    """F1 of `evaluate_proposition` and `precrecf1`, with arguments looked up by their ends."""
    ok = missed = excess = 0
    for true, found in zip(gold, predicted, strict=True):
        table = {(arg[1][0][0], arg[1][-1][1]): arg for arg in props(true)}
        for label, phrases in props(found):
            ends = phrases[0][0], phrases[-1][1]
            right = table.get(ends) == [label, phrases]
            if right:
                del table[ends]
            if label != "V":
                ok, excess = ok + right, excess + (not right)
        missed += sum(label != "V" for label, _ in table.values())
    precision = ok / (ok + excess) if ok + excess else 0
    recall = ok / (ok + missed) if ok + missed else 0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0


@given(st.lists(st.tuples(spans, spans), min_size=1, max_size=4), st.integers(1, 9))
def test_arguments_equal_those_of_the_official_script(rows, size):
    gold, predicted = ([tagged(row[side], size) for row in rows] for side in (0, 1))
    assert score(gold, predicted) == pytest.approx(srl_eval(gold, predicted), abs=1e-9)


def test_a_continued_argument_is_one():
    """By hand: the prediction has two of three arguments in full, and half of A1."""
    gold = ["B-A1", "B-V", "B-A0", "B-C-A1", "I-C-A1", "B-R-A0"]
    assert arguments(gold) == {("A1", ((0, 0), (3, 4))), ("A0", ((2, 2),)), ("R-A0", ((5, 5),))}
    half = ["B-A1", "B-V", "B-A0", "O", "O", "B-R-A0"]
    assert score([gold], [gold]) == 1
    assert score([gold], [half]) == pytest.approx(2 * 2 / 6)


def test_a_continuation_of_nothing_is_an_argument():
    assert arguments(["B-C-A1", "O", "B-A1", "B-C-A1"]) == {
        ("A1", ((0, 0),)),
        ("A1", ((2, 2), (3, 3))),
    }


def test_the_predicate_does_not_count():
    assert score([["B-A0", "B-V", "O"]], [["B-A0", "O", "B-V"]]) == 1
    assert score([["O", "B-V"]], [["O", "B-V"]]) == 0  # no argument


def test_label_and_extent_must_be_right():
    gold = ["B-A0", "I-A0", "B-V", "B-A1"]
    assert score([gold], [["B-A0", "O", "B-V", "B-A1"]]) == pytest.approx(0.5)
    assert score([gold], [["B-A1", "I-A1", "B-V", "B-A0"]]) == 0


def test_names_of_the_tags_are_needed():
    with pytest.raises(ValueError, match="need the names of the tags"):
        METRICS["argument_f1"]([(0,)], [(0,)])
