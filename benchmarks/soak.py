"""Runs small studies one after the other on one store, in one process, and looks for what grows.

    python benchmarks/soak.py [--studies 601]

Each study has another seed: it pretrains a network, fine-tunes it and reads its leaderboard.
Prints, for each tenth of the studies, the seconds of one, what the process holds after it, and what
it adds to the store. Passes (exit 0) if from the first half to the second, memory and what a study
adds grow by less than 10 %, and the rest does not grow.
"""

import os
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks import common
from benchmarks.fault_kinds import descendants
from harness.study import Study

EXPERIMENT: dict[str, Any] = {
    "extends": "smoke",
    "name": "soak",
    "question": "What grows?",
    "expect": [],
    "pretrain": {"budget": {"tokens": 10_000}},
    "grid": {"pretrain.objective.masking": ["dynamic"]},
    "evaluate": {"tasks": ["micro-sst2"], "protocol": {"max_train_examples": 50}},
    "sweep": None,
}
PARTS = 10
GROWTH = {"memory": 1.1, "added_files": 1.1, "added_kilobytes": 1.1}
"""Largest ratio of the second half to the first; of the rest 1."""
HEADS = {
    "seconds": "seconds a study",
    "memory": "memory, MB",
    "files": "open files",
    "threads": "threads",
    "processes": "processes",
    "temporary": "temporary files",
    "added_files": "files added a study",
    "added_kilobytes": "kB added a study",
}
"""Figure to its column."""


def declared(number: int) -> dict[str, Any]:
    """The study of a number, which shares only corpus and tokenizer with the others."""
    return {**EXPERIMENT, "seeds": {"pretrain": [number], "finetune": 1}}


def held(store: Path) -> dict[str, float]:
    """What this process and a store hold."""
    status = Path("/proc/self/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    sizes = [file.stat().st_size for file in store.rglob("*") if file.is_file()]
    return {
        "memory": int(resident.split()[1]) / 1024,
        "files": _number(Path("/proc/self/fd")),
        "threads": threading.active_count(),
        "processes": sum(1 for _ in descendants(os.getpid())),
        "temporary": _number(Path(tempfile.gettempdir())),
        "store_files": len(sizes),
        "store_kilobytes": sum(sizes) / 1024,
    }


def _number(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir())


def soak(studies: int, store: Path) -> list[dict[str, float]]:
    """Runs the studies; a row for each."""
    console, rows = Console(quiet=True), []
    for number in range(studies):
        study = Study.declare(declared(number), store=store)
        run = partial(study.run, executor="serial", console=console)
        seconds = common.seconds(run) + common.seconds(study.leaderboard)
        rows.append({"seconds": seconds, **held(store)})
        print(number, {name: round(value, 1) for name, value in rows[-1].items()}, flush=True)
    return rows


def parts_of(rows: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """The figures of each tenth: medians, and what a study adds to the store on average.

    The first study, which makes corpus and tokenizer, is left out.
    """
    first, *others = rows
    size = len(others) // PARTS
    found = []
    for part in range(PARTS):
        last = others[part * size : (part + 1) * size]
        medians = {name: median(row[name] for row in last) for name in HEADS if name in first}
        before = others[part * size - 1] if part else first
        added = {
            f"added_{what}": (last[-1][f"store_{what}"] - before[f"store_{what}"]) / size
            for what in ("files", "kilobytes")
        }
        found.append({**medians, **added})
    return found


def grown(parts: Sequence[Mapping[str, float]]) -> list[str]:
    """What grows from the first half to the second, seconds apart: columns of the table."""
    half = len(parts) // 2

    def ratio(name: str) -> float:
        first, second = (
            median(part[name] for part in some) for some in (parts[:half], parts[half:])
        )
        return second / first if first else 1 + second

    of_machine = [name for name in HEADS if name != "seconds"]
    return [HEADS[name] for name in of_machine if ratio(name) > GROWTH.get(name, 1.0)]


def page(figures: Mapping[str, Any]) -> str:
    """The table of all tenths."""
    parts, options = figures["parts"], figures["settings"]
    size = (options["studies"] - 1) // PARTS
    rows = [
        [
            f"{number * size + 2} to {(number + 1) * size + 1}",
            *(f"{part[name]:,.1f}" for name in HEADS),
        ]
        for number, part in enumerate(parts)
    ]
    setting = (
        f"{options['studies']} studies of {figures['stages']} stages on one store, in one process; "
        "medians of each tenth. All share the corpus and the tokenizer of the first."
    )
    found = ", ".join(grown(parts)) or "nothing"
    verdict = (
        "From the first half to the second, memory and what a study adds may grow by 10 %, the "
        f"rest not at all; grown by more: {found}. MLflow keeps an object for each of the last "
        "1,024 runs that it has written files of."
    )
    head = ["studies", *HEADS.values()]
    return common.markdown(__file__, "Many studies, one after the other", setting, head, rows,
                           remark=verdict)  # fmt: skip


def main() -> None:
    """Writes the figures and the page; exits with 0 if nothing grows that should not."""
    given = common.parse_arguments(__doc__ or "", "soak", studies=601)
    with TemporaryDirectory() as folder:
        store, tempfile.tempdir = Path(folder) / "runs", f"{folder}/temporary"
        Path(tempfile.tempdir).mkdir()  # of this process alone
        stages = len(Study.declare(declared(0), store=store).plan.stages)
        parts = parts_of(soak(given.studies, store))
    figures = {
        "settings": common.settings(given),
        "machine": common.machine("torch", "mlflow"),
        "stages": stages,
        "parts": [{name: round(value, 2) for name, value in part.items()} for part in parts],
    }
    common.save(figures, page(figures), given.out)
    sys.exit(bool(grown(parts)))


if __name__ == "__main__":
    main()
