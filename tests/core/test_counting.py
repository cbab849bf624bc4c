"""Numbers of things in words."""

from harness.core.counting import number_of


def test_one_is_in_the_singular():
    assert [number_of(n, "score") for n in (0, 1, 2)] == ["0 scores", "1 score", "2 scores"]
