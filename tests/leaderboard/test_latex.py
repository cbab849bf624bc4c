"""LaTeX's special characters in cells."""

import pytest

from harness.leaderboard.latex import tex


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b > c | d", r"a \textless{} b \textgreater{} c \textbar{} d"),
        (r"50 % & $x_1 {#2}", r"50 \% \& \$x\_1 \{\#2\}"),
        ("^~\\", r"\textasciicircum{}\textasciitilde{}\textbackslash{}"),
        ("−1.0 ± 0.5, 3 × 1", r"$-$1.0 $\pm$ 0.5, 3 $\times$ 1"),
        ("†‡", r"$^\dagger$$^\ddagger$"),
    ],
)
def test_special_characters_are_escaped(text: str, expected: str) -> None:
    assert tex(text) == expected
