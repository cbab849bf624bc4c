"""Committed pages agree with the committed figures and with the scripts that write them."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial, reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks import common, concurrent_runs, pretraining_throughput
from benchmarks.common import RESULTS, measure_in_turns, median_ratio
from benchmarks.concurrent_runs import NUM_BATCHES, Setting, rate, total_rate
from benchmarks.pretraining_workloads import GPU_WORKLOADS, Shape, Workload

SCRIPTS = {path.stem for path in RESULTS.parent.glob("*.py") if "__main__" in path.read_text()}
MACHINES = ("_gpu", "_epyc")
"""Endings of pages of other machines than the first."""
ELSEWHERE = {path.stem for end in MACHINES for path in RESULTS.glob(f"*{end}.json")}
SMALLEST = {
    "pretraining_throughput": "--workloads smallest --repeats 1",
    "finetuning_throughput": (
        "--examples 96 --size nano --batch-size 2 --vocab-size 500 --repeats 1"
    ),
}
NO_PAGE = {
    "cluster_recovery",
    "crash_recovery",
    "faults",
    "fuzz",
    "fuzz_coverage",
    "fuzz_formats_binary",
    "shared_plan",
    "store_damage",
}


@pytest.mark.parametrize("name", [*sorted(SCRIPTS - NO_PAGE), *sorted(ELSEWHERE)])
def test_page_is_made_from_the_figures(name: str) -> None:
    figures = json.loads((RESULTS / f"{name}.json").read_text())
    script = reduce(str.removesuffix, MACHINES, name)
    page = import_module(f"benchmarks.{script}").page(figures)
    assert page == (RESULTS / f"{name}.md").read_text()


@pytest.mark.filterwarnings("ignore")  # warnings of transformers' Trainer are not ours to fix
@pytest.mark.parametrize("name", ["pretraining_throughput", "finetuning_throughput"])
def test_a_benchmark_of_training_runs_at_its_smallest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It calls what lies below the interface of the package, which changes more often."""
    out, module = tmp_path / "figures.json", import_module(f"benchmarks.{name}")
    monkeypatch.setattr(sys, "argv", ["", *SMALLEST[name].split(), "--out", str(out)])
    # In this process: each of a dozen new ones would load for seconds.
    monkeypatch.setattr(common, "in_new_process", lambda function, *given: function(*given))
    module.main()
    found = json.loads(out.read_text())
    for one in found.get("tasks") or found["workloads"]:
        rates = one.get("tokens_per_second", one)
        assert min(rates[system] for system in ("trainer", "bare", "harness")) > 0
    assert "| harness |" in out.with_suffix(".md").read_text()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("system", ["trainer_bf16", "bare_bf16", "harness_bf16"])
@pytest.mark.parametrize("name", ["mlm-base-512", "causal-base", "span-base"])
def test_workloads_of_gpus_run_on_a_cpu_at_a_small_size(system: str, name: str) -> None:
    small: dict[str, Any] = {
        "size": "nano",
        "batch_size": 2,
        "sequence_length": 16,
        "vocab_size": 500,
    }
    short = replace(GPU_WORKLOADS[name], **small, threads=1, steps=2, warmup_steps=1)
    assert pretraining_throughput.rate(system, short) > 0


@pytest.mark.parametrize("name", sorted(GPU_WORKLOADS))
def test_workloads_of_gpus_are_valid_at_their_size(name: str) -> None:
    shape = replace(GPU_WORKLOADS[name], steps=1, warmup_steps=0)
    work = Workload(shape)
    assert work.step(0).num_tokens == shape.batch_size * shape.sequence_length
    assert work.flops_per_token > 6 * 85e6  # the layers of the base size


def test_utilisation_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """BERT base: about 6 x 85M FLOPs per token in the layers, and more for attention and output."""
    monkeypatch.setattr(pretraining_throughput, "peak_rate", lambda: 989e12)
    shape = replace(GPU_WORKLOADS["mlm-base-128"], batch_size=2)
    found = pretraining_throughput.mfu({"bare": 1e6, "bare_bf16": 1e6}, shape)
    assert found.keys() == {"bare_bf16"}
    assert 6 * 85e6 * 1e6 / 989e12 < found["bare_bf16"] < 0.6
    monkeypatch.setattr(pretraining_throughput, "peak_rate", lambda: None)
    assert pretraining_throughput.mfu({"bare_bf16": 1e6}, shape) == {}


def test_a_page_names_systems_that_failed_and_figures_without_a_trainer() -> None:
    rates = {"harness_bf16": [2e5, 4e5, 3e5]}
    found = pretraining_throughput.figures_of("mlm-base-128", rates)
    shown = pretraining_throughput.shown_rate
    assert shown(found, "harness_bf16") == "300,000"
    assert shown(found, "trainer_bf16") == "failed"


def test_a_system_is_measured_in_a_process_of_its_own() -> None:
    assert common.in_new_process(os.getpid) != os.getpid()


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


@pytest.mark.parametrize(
    "workers", ["threads", pytest.param("processes", marks=pytest.mark.campaign)]
)
def test_concurrent_runs_are_summed(workers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They wait for each other and start with the policy of their setting; in threads instead of
    processes, each of which would load for seconds."""
    policies: list[str] = []
    rates: list[float] = []

    def threads(number: int, mp_context: object, **given: Any) -> ThreadPoolExecutor:
        policies.append(os.environ["OMP_WAIT_POLICY"])
        return ThreadPoolExecutor(number, **given)

    def kept(*given: Any) -> float:
        rates.append(rate(*given))
        return rates[-1]

    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if workers == "threads":
        monkeypatch.setattr(concurrent_runs, "_barrier", None)  # restored after the test
        monkeypatch.setattr(concurrent_runs, "ProcessPoolExecutor", threads)
        monkeypatch.setattr(concurrent_runs, "rate", kept)
    shape = Shape("mlm", "bert", "nano", 2, 16, vocab_size=500, steps=NUM_BATCHES)
    found = total_rate(Setting(runs=2, threads=1), shape, seconds=0.1)
    if workers == "threads":
        assert policies == ["passive"] and len(rates) == 2
        assert found == pytest.approx(sum(rates))
    assert found > 0 and "OMP_WAIT_POLICY" not in os.environ


@pytest.mark.parametrize(
    ("runs", "threads", "share"), [(1, 1, 2 / 3), (1, 2, 1 / 2), (2, 1, 1 / 2), (2, 2, 2 / 3)]
)
def test_fair_share(runs: int, threads: int, share: float) -> None:
    """Of two CPUs, by hand: one thread beside two busy ones has 2/3 of a CPU, and 1 alone."""
    assert Setting(runs, threads, busy=2).fair_share(2) == pytest.approx(share)
    assert Setting(runs, threads).fair_share(2) == 1


def test_variables_of_new_processes_are_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    with common.environment(OMP_WAIT_POLICY=""):
        assert "OMP_WAIT_POLICY" not in os.environ
    assert os.environ["OMP_WAIT_POLICY"] == "active"
