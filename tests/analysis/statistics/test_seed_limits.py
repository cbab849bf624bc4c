"""The exact limits of few seeds, as counted by hand."""

import pytest

from harness.analysis.statistics.seed_limits import seed_limits, seed_note


@pytest.mark.parametrize(
    ("seeds", "multisets", "shrinkage", "permutation", "sign_flip"),
    [
        (1, 1, 0.0, 1.0, 1.0),
        (3, 10, 0.816, 0.1, 0.25),
        (4, 35, 0.866, 0.0286, 0.125),
        (5, 126, 0.894, 0.0079, 0.0625),
        (10, 92378, 0.949, 1.08e-5, 0.00195),
    ],
)
def test_seed_limits(seeds, multisets, shrinkage, permutation, sign_flip):
    limits = seed_limits(seeds)
    assert limits.multisets == multisets
    assert limits.shrinkage == pytest.approx(shrinkage, abs=5e-4)
    assert limits.permutation_floor == pytest.approx(permutation, rel=0.01)
    assert limits.sign_flip_floor == pytest.approx(sign_flip, rel=0.01)


def test_seed_note_says_what_cannot_be_shown():
    assert "not go below p = 0.1, a paired sign-flip test not below 0.25" in seed_note(3)
    assert "these checkpoints only" in seed_note(1)
    with pytest.raises(ValueError, match="at least one seed"):
        seed_note(0)
