"""Seconds and memory of `harness plan` for grids of up to 10,000 arms.

    python benchmarks/plan_size.py [--arms 10000]

Arms differ in recipe, learning rate, mask rate and weight decay; each has the nine tasks of
`glue-v1` and five pretraining seeds, together 50 stages. Sizes are one arm, and a tenth, a fifth,
two fifths and all of `--arms`. Passes (exit 0) if the largest grid takes at most 60 s and 1 GB, and
its CPU time per arm, without the start, is at most 1.5 times that of the smallest grid.
"""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import common

EXPERIMENT: dict[str, Any] = {
    "name": "grid",
    "question": "How long does a plan of many arms take?",
    "pretrain": {"size": "nano", "corpus": "microworld", "budget": {"tokens": 1_000_000}},
    "seeds": {"pretrain": 5, "finetune": 1},
    "evaluate": {"suite": "glue-v1"},
}
AXES: dict[str, list[Any]] = {
    "pretrain.recipe": ["bert", "roberta"],
    "pretrain.objective.transform.mask_rate": [number / 20 for number in range(1, 11)],
    "pretrain.optimizer.weight_decay": [number / 100 for number in range(1, 11)],
}
SHARES = (0.1, 0.2, 0.4, 1.0)
"""Sizes of the grids, as shares of the largest."""
MOST_SECONDS, MOST_GIGABYTES, MOST_GROWTH = 60.0, 1.0, 1.5

Figures = dict[str, float]


def grid(least: int) -> dict[str, list[Any]]:
    """Axes with the fewest combinations that are at least `least`."""
    number = math.ceil(least / math.prod(map(len, AXES.values())))
    rates = [round(1e-4 * (i + 1), 6) for i in range(number)]
    return {**AXES, "pretrain.optimizer.learning_rate": rates}


def measure(axes: dict[str, list[Any]], folder: Path) -> Figures:
    """Arms, seconds, CPU seconds and gigabytes of memory of `harness plan`."""
    path = folder / "grid.yaml"
    path.write_text(json.dumps({**EXPERIMENT, "grid": axes}))
    words = [sys.executable, "-m", "harness", "plan", str(path), "--store", str(folder / "runs")]
    start = time.perf_counter()
    with (folder / "plan.txt").open("w") as output:
        process = subprocess.Popen(words, stdout=output)
        _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"harness plan ended with status {status}")
    return {
        "arms": math.prod(map(len, axes.values())),
        "seconds": seconds,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "gigabytes": 1024 * used.ru_maxrss / 1e9,
    }


def growth(found: list[Figures]) -> float:
    """CPU time per arm of the largest grid divided by that of the smallest, without that of one
    arm."""
    one, first, *_, last = found
    rates = [(f["cpu_seconds"] - one["cpu_seconds"]) / (f["arms"] - 1) for f in (last, first)]
    return rates[0] / rates[1]


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    found = figures["grids"]
    setting = (
        "`harness plan` of arms with 45 fine-tuning and 5 pretraining stages each; "
        f"{figures['machine']}. Seconds include waiting for other work on the machine, CPU seconds "
        "do not."
    )
    rows = [
        [
            f"{one['arms']:,}",
            *(f"{one[name]:.1f}" for name in ("seconds", "cpu_seconds")),
            f"{one['gigabytes']:.2f}",
        ]
        for one in found
    ]
    head = ("arms", "seconds", "CPU seconds", "GB of memory")
    remark = (
        f"An arm of the largest grid takes {figures['growth']:.2f} times the CPU time of one of "
        f"the smallest grid. Limits: {MOST_SECONDS:.0f} s, {MOST_GIGABYTES:.0f} GB, {MOST_GROWTH}."
    )
    return common.markdown(
        __file__, "Size of the plan", setting, head, rows, num_text_columns=0, remark=remark
    )


def main() -> int:
    """Measures and writes the figures; returns 1 if a limit is exceeded."""
    arguments = common.parse_arguments(__doc__, "plan_size", arms=10_000)
    found = []
    with TemporaryDirectory() as folder:
        for axes in ({}, *(grid(round(share * arguments.arms)) for share in SHARES)):
            found.append(measure(axes, Path(folder)))
            print(found[-1], flush=True)
    machine = f"{os.cpu_count()} CPU cores, load average {os.getloadavg()[0]:.1f}"
    figures = {"grids": found, "growth": growth(found), "machine": machine}
    common.save(figures, page(figures), arguments.out)
    last = found[-1]
    within = last["seconds"] <= MOST_SECONDS and last["gigabytes"] <= MOST_GIGABYTES
    return int(not within or growth(found) > MOST_GROWTH)


if __name__ == "__main__":
    raise SystemExit(main())
