"""How often each token occurs in a tokenised text, which is small where the text is not."""

from pathlib import Path

import numpy as np

from harness.data.corpora.token_stream import TokenStream

FILE = "token_counts.npz"
"""Name of the file of `save_token_counts`."""
MAX_TOKENS = 1_000_000
"""Tokens of the training text that are counted."""


def token_counts(folder: Path) -> tuple[np.ndarray, np.ndarray] | None:
    """The counts of every token, by number, in the training text and in the held-out text; null if
    the streams have been deleted and left no counts.

    Args:
        folder: of a tokenised text, or of its counts alone.

    Returns:
        Two arrays [num_tokens] int64 of equal length.
    """
    if (folder / FILE).is_file():
        with np.load(folder / FILE) as stored:
            return stored["train"], stored["validation"]
    if not (folder / "train").exists():
        return None
    train, held_out = (TokenStream.open(folder / name).tokens for name in ("train", "validation"))
    counted = train[:MAX_TOKENS]
    size = 1 + int(max(counted.max(), held_out.max()))
    return np.bincount(counted, minlength=size), np.bincount(held_out, minlength=size)


def save_token_counts(folder: Path, out: Path) -> None:
    """Writes the counts of the tokenised text in `folder`, if it has any, to `out`."""
    if counts := token_counts(folder):
        np.savez(out / FILE, train=counts[0], validation=counts[1])
