"""Which way of pretraining a language model is better, by how much, and how sure are we?

From a notebook: `harness.load("experiments/quickstart.yaml").run().leaderboard()`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.study import Study


def load(path: str | Path, *overrides: str, store: str | Path = "runs") -> "Study":
    """An experiment file as a study.

    Args:
        overrides: `path=value`, as `--set` takes them.
        store: folder of the results.

    Raises:
        ValueError: the file is wrong; every problem with its line.
    """
    from harness.study import Study

    return Study.load(path, overrides, store)
