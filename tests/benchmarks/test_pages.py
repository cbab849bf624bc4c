"""Committed pages agree with the committed figures and with the scripts that write them."""

import json
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks import pretraining_throughput
from benchmarks.common import RESULTS, measure_in_turns, median_ratio

SCRIPTS = {path.stem for path in RESULTS.parent.glob("*.py") if "__main__" in path.read_text()}
SMALL = "--size nano --batch-size 2 --repeats 1"
SMALLEST = {
    "pretraining_throughput": "--sequence-length 16 --steps 2",
    "finetuning_throughput": "--examples 16",
}
NO_PAGE = {"cluster_recovery", "crash_recovery", "shared_plan"}


@pytest.mark.parametrize("name", sorted(SCRIPTS - NO_PAGE))
def test_page_is_made_from_the_figures(name: str) -> None:
    figures = json.loads((RESULTS / f"{name}.json").read_text())
    page = import_module(f"benchmarks.{name}").page(figures)
    assert page == (RESULTS / f"{name}.md").read_text()


@pytest.mark.filterwarnings("ignore")  # warnings of transformers' Trainer are not ours to fix
@pytest.mark.parametrize("name", ["pretraining_throughput", "finetuning_throughput"])
def test_a_benchmark_of_training_runs_at_its_smallest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It calls what lies below the interface of the package, which changes more often."""
    out, module = tmp_path / "figures.json", import_module(f"benchmarks.{name}")
    monkeypatch.setattr(pretraining_throughput, "VOCAB_SIZE", 500)
    monkeypatch.setattr(module, "VOCAB_SIZE", 500)
    monkeypatch.setattr(
        sys, "argv", ["", *SMALLEST[name].split(), *SMALL.split(), "--out", str(out)]
    )
    module.main()
    found = json.loads(out.read_text())
    for rates in found.get("tasks", [found.get("tokens_per_second")]):
        assert min(rates[system] for system in ("trainer", "bare", "harness")) > 0
    assert "| harness |" in out.with_suffix(".md").read_text()


def test_every_script_is_in_the_readme() -> None:
    rows = (RESULTS.parent / "README.md").read_text().splitlines()
    assert {row.split("`")[1] for row in rows if row.startswith("| `")} == {
        f"{name}.py" for name in SCRIPTS
    }
    assert len(SCRIPTS) >= 7


def test_systems_take_turns_at_going_first() -> None:
    order: list[str] = []

    def system(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = measure_in_turns({name: partial(system, name) for name in "ab"}, repeats=2)
    assert "".join(order) == "abba"
    assert found == {"a": [1, 4], "b": [2, 3]}
    assert median_ratio(found, "b", "a") == (2 / 1 + 3 / 4) / 2
