"""Imported examples as those of runs, whatever the order of their rows."""

import json

import numpy as np
import pandas as pd

from harness.analysis.frames.imported_examples import contents, run_examples

ROWS = [  # split, index, label, prediction, group, counts
    ("dev", 0, 1.0, 1.0, "b", {"accuracy": [1, 1], "f1": [1, 1, 1]}),
    ("dev", 1, 0.0, 1.0, "a", {"accuracy": [0, 1]}),
    ("dev", 2, 0.0, 0.0, "b", {"accuracy": [1, 1], "f1": [0, 0, 0]}),
    ("test", 0, 1.0, None, None, None),
    ("test", 1, 0.0, None, "x", {"accuracy": [1, 1]}),
]


def frame(order: list[int]) -> pd.DataFrame:
    names = ["split", "index", "label", "prediction", "group", "counts"]
    made = pd.DataFrame([ROWS[place] for place in order], columns=names)
    for name in ("label", "prediction", "counts"):
        made[name] = [
            None if v is None else json.dumps(v) for v in made[name].replace(np.nan, None)
        ]
    return made


def test_examples_stand_in_the_order_of_their_index() -> None:
    examples, counts = run_examples(frame([2, 4, 0, 3, 1]))
    dev = examples[examples["split"] == "dev"]
    assert dev["index"].tolist() == [0, 1, 2]
    assert dev["label"].tolist() == [1, 0, 0] and dev["prediction"].tolist() == [1, 1, 0]
    assert counts["dev/accuracy"].tolist() == [[1, 1], [0, 1], [1, 1]]
    assert counts["dev/groups"].tolist() == [1, 0, 1]


def test_what_some_examples_lack_their_split_lacks() -> None:
    """A metric that not all examples have, counts of one example, and its group."""
    _, counts = run_examples(frame([0, 1, 2, 3, 4]))
    assert counts.keys() == {"dev/accuracy", "dev/groups"}


def test_equal_examples_have_equal_contents_in_any_order() -> None:
    one, other = (run_examples(frame(order)) for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0]))
    assert contents(one) == contents(other)
    shuffled = one[0].iloc[[2, 0, 1, 3, 4]], one[1]
    assert contents(shuffled)["dev"][0] == [(0, 1.0), (1, 0.0), (2, 0.0)]
    changed = frame([0, 1, 2, 3, 4]).assign(label=json.dumps(1.0))
    assert contents(run_examples(changed)) != contents(one)
