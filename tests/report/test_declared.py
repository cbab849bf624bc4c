"""Predictions, and expectations that were declared after results."""

from pathlib import Path

import pytest
from rich.console import Console

import harness
from harness.analysis.results import Results
from harness.execution.run_plan import run_plan
from harness.experiment.expectation import Comparison
from harness.plan.factory import load_plan
from harness.report.declared import declared_expectations, declared_late, predicted_line
from harness.report.summary import summary
from harness.store.declared import FOLDER, Declared
from harness.store.store import Store
from tests.made_up_results import expecting

DECLARED = {"average": "b > a", "predicted": 12.5}
TEXT = "b > a, predicted +12.5"


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({}, "predicted +12.5 points"),
        ({TEXT: Declared("now", None, 12)}, "predicted +12.5 points"),
        ({TEXT: Declared("now", 0, 12)}, "predicted +12.5 points, before its first result"),
        (
            {TEXT: Declared("now", 5, 12)},
            "predicted +12.5 points, after 5 of the 12 stages with its results had finished",
        ),
        # Another prediction of the same difference was made before.
        ({"b > a": Declared("now", 0, 12)}, "predicted +12.5 points"),
    ],
)
def test_a_prediction_stands_beside_the_outcome(fabricate, declared, expected) -> None:
    data = expecting(fabricate({"a": 0.6, "b": 0.9}, declared=declared), DECLARED)
    (one,) = data.experiment.expectations
    assert predicted_line(data, one) == expected
    (verdict,) = summary(data).verdicts
    assert verdict.startswith("b > a: confirmed, ") and verdict.endswith(f"; {expected}")


def test_without_a_prediction_nothing_is_added(fabricate) -> None:
    data = expecting(fabricate({"a": 0.6, "b": 0.9}), "b > a")
    assert predicted_line(data, Comparison(better="b", worse="a")) == ""
    assert "predicted" not in summary(data).verdicts[0]


def test_what_was_declared_after_results_is_a_threat(fabricate) -> None:
    declared = {"b > a": Declared("2026-01-01T00:00:00+00:00", 12, 12)}
    data = expecting(fabricate({"a": 0.6, "b": 0.9}, declared=declared), "b > a")
    (threat,) = declared_late(data)
    assert threat.startswith(
        "The expectation b > a was first declared after 12 of the 12 stages with its results had "
        "finished, at 2026-01-01T00:00:00+00:00"
    )
    assert threat in summary(data).threats


def test_what_no_run_has_declared_is_a_threat(fabricate) -> None:
    declared = {"b > a": Declared("2026-01-01T00:00:00+00:00", 0, 12)}
    texts = ("b > a", "b >= a within 30")
    data = expecting(fabricate({"a": 0.6, "b": 0.9}, declared=declared), *texts)
    (threat,) = declared_late(data)
    start = "The expectation b >= a within 30 was first declared after the last run of the experim"
    assert threat.startswith(start)


SMALL = """
name: small
question: Is it better?
pretrain:
  recipe: bag_of_words
  corpus: {source: microworld, num_tokens: 20_000}
  budget: {tokens: 0}
grid:
  kind:
    words: {}
    majority: {pretrain.recipe: majority}
seeds: {pretrain: 1, finetune: 1}
evaluate: {tasks: [micro-sst2], protocol: {max_train_examples: 60}}
"""


def test_a_run_keeps_what_was_declared_before_it(tmp_path: Path) -> None:
    file, store = tmp_path / "small.yaml", Store(tmp_path / "store")

    def run(*expected: str) -> Results:
        file.write_text(SMALL + "expect: [" + ", ".join(expected) + "]\n")
        plan = load_plan(file)
        run_plan(plan, store, executor="serial", console=Console(quiet=True))
        return Results(plan, store)

    first = run("'words > majority'").get(declared_expectations)
    assert {text: (one.finished, one.planned) for text, one in first.items()} == {
        "words > majority": (0, 2)
    }
    results = run("'words > majority'", "{SST-2: words > majority, predicted: 10}")
    known = results.get(declared_expectations)
    assert known["words > majority"] == first["words > majority"]
    assert known["words > majority on SST-2, predicted +10"].finished == 2
    assert len(list(declared_late(results))) == 1


def test_of_stores_of_earlier_versions_it_is_not_known(tmp_path: Path) -> None:
    """They have a record of the experiment, and none of its expectations."""
    file, store = tmp_path / "small.yaml", tmp_path / "store"
    file.write_text(SMALL + "expect: [words > majority]\n")
    study = harness.load(file, store=store)
    study.run(executor="serial")
    (declared,) = (store / FOLDER).iterdir()
    declared.unlink()
    study = harness.load(file, store=store)
    study.run(executor="serial")
    known = study.results.get(declared_expectations)
    assert known["words > majority"].finished is None
    assert not list(declared_late(study.results))
