"""Encoded examples on disk: made once, and again if they are damaged."""

from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.store_damage import flip
from harness.finetuning.encoded_cache import encoded
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Encoded, Ragged
from harness.finetuning.protocol import Protocol
from harness.tasks import TASKS
from harness.tasks.examples import Examples

EXAMPLES = Examples([("a",)] * 20, np.arange(20))


class CountingHead:
    """A head that counts how often it encodes."""

    task, protocol = TASKS["micro-sst2"], Protocol()
    calls = 0

    def encode(self, examples: Examples) -> Encoded:
        self.calls += 1
        rows = Ragged.of([[5, 7, 9]] * len(examples.labels))
        return Encoded(rows, rows, examples.labels, 0.0)


def test_a_damaged_file_is_made_again(tmp_path: Path) -> None:
    """Also if its array became shorter, which NumPy reads without an error."""
    head = CountingHead()

    def targets() -> list[Any]:
        found = encoded(cast("TaskHead", head), EXAMPLES, tmp_path, tmp_path)
        assert isinstance(found.targets, np.ndarray)
        return found.targets.tolist()

    assert targets() == list(range(20)) == targets() and head.calls == 1
    (path,) = (tmp_path / "encoded").glob("*.npz")
    content = path.read_bytes()
    flip(path, 8 * (content.index(b"(20,)") + 1))
    assert targets() == list(range(20)) == targets() and head.calls == 2
    path.write_bytes(content[:100])
    assert targets() == list(range(20)) == targets() and head.calls == 3
