"""What the benchmarks share: arguments, timing, the machine, and files of figures."""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from harness.core.cpus import has_gpu, processor

RESULTS = Path(__file__).parent / "results"

Measurements = dict[str, list[float]]
"""System to its figure in each repeat."""


def parse_arguments(doc: str, name: str, **defaults: int | str) -> argparse.Namespace:
    """Command-line arguments: an `--option` for each default, of its type, and `--out`.

    Args:
        doc: the docstring of the benchmark; its first line is the help text.
        name: file name of the figures, without its ending.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for option, default in defaults.items():
        parser.add_argument(f"--{option.replace('_', '-')}", type=type(default), default=default)
    parser.add_argument("--out", type=Path, default=RESULTS / f"{name}.json")
    return parser.parse_args()


def suffix() -> str:
    """What the names of files of figures end with on a machine with a GPU, which has its own."""
    return "_gpu" if has_gpu() else ""


def settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The arguments that affect the figures."""
    return {name: value for name, value in vars(arguments).items() if name not in ("out", "folder")}


def timed(action: Callable[[], object]) -> tuple[float, Any]:
    """Seconds that a call takes, and what it returns."""
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def seconds(action: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    return timed(action)[0]


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of a module returns in a new process: what one system sets, such as the
    allocator's options, must not affect another."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Sets variables of the environment for processes that start in the block; empty ones are
    removed."""
    before = {name: os.environ.get(name, "") for name in variables}
    _set_environment(variables)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        os.environ.pop(name, None)
        os.environ.update({name: value} if value else {})


def measure_in_turns(systems: Mapping[str, Callable[[], float]], repeats: int) -> Measurements:
    """Measures all systems once per repeat, each time starting with the next one, so that a change
    of the machine's load affects all alike."""
    found: Measurements = {name: [] for name in systems}
    names = list(systems)
    for repeat in range(repeats):
        first = repeat % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(systems[name]())
        print(repeat, {name: f"{values[-1]:,.4g}" for name, values in found.items()}, flush=True)
    return found


def median_ratio(found: Measurements, one: str, other: str) -> float:
    """Median over the repeats of one system's figure divided by another's."""
    return statistics.median(a / b for a, b in zip(found[one], found[other], strict=True))


def rate_figures(
    rates: Measurements, arguments: argparse.Namespace, **of_machine: Any
) -> dict[str, Any]:
    """Medians of tokens per second and all values, with settings and machine."""
    return {
        "settings": settings(arguments),
        "machine": of_machine,
        "tokens_per_second": {name: round(statistics.median(v)) for name, v in rates.items()},
        "all_tokens_per_second": {name: [float(round(x)) for x in v] for name, v in rates.items()},
    }


def machine(*packages: str) -> dict[str, str]:
    """Processor and versions, for the record."""
    versions = {name: version(name) for name in packages}
    return {"processor": processor(), "python": platform.python_version(), **versions}


def markdown(
    script: str, title: str, setting: str, head: Sequence[str], rows: Iterable[Sequence[str]],
    num_text_columns: int = 1, remark: str = "",
) -> str:  # fmt: skip
    """A page with one table; all columns but the first ones are aligned to the right.

    Args:
        script: `__file__` of the benchmark.
        setting: what was measured, above the table.
        remark: stands below it.
    """
    align = "|---" * num_text_columns + "|---:" * (len(head) - num_text_columns) + "|"
    table = [f"| {' | '.join(row)} |" for row in rows]
    made = f"Made by `python benchmarks/{Path(script).name}`."
    parts = [f"# {title}", "", setting, "", f"| {' | '.join(head)} |", align, *table, ""]
    return "\n".join([*parts, f"{remark} {made}".strip(), ""])


def save(figures: Mapping[str, Any], page: str, out: Path) -> None:
    """Writes the figures to `out` and the page beside it, and prints the page."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(figures, indent=2) + "\n")
    out.with_suffix(".md").write_text(page)
    print(page)
