"""Seconds of the multi-bootstrap and of Welch's interval on a suite, against a loop.

    python benchmarks/bootstrap_speed.py [--repeats 3] [--replicates 1000] [--loop-replicates 3]

Two arms of 5 pretraining seeds x 5 fine-tuning seeds on 8 tasks of 2,000 examples; half of the
tasks are scored by accuracy, half by Matthews' correlation; one thread. It should take less than 5
seconds. `paired` has the same seed numbers in both arms, `unpaired` others. The loop draws seeds
and examples and calls scikit-learn for every run, replicate by replicate, as Sellam et al.'s code
does; it is timed on fewer replicates and its time scaled up. They take turns in each repeat.
Figures go to benchmarks/results/.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import accuracy_score, matthews_corrcoef

from harness.analysis.statistics.bootstrap import Runs, bootstrap_scores, compare, summarise
from harness.analysis.statistics.welch import seed_means, welch
from harness.tasks.metrics import METRICS

RESULTS = Path(__file__).parent / "results" / "bootstrap_speed.json"
SEEDS, FINETUNES, TASKS, EXAMPLES = 5, 5, 8, 2_000
RUNS = SEEDS * FINETUNES
SCORERS = {"accuracy": accuracy_score, "matthews": matthews_corrcoef}
LABELS = ("no", "yes")

Task = tuple[str, np.ndarray, np.ndarray]
"""Metric, labels [examples], predictions [2 arms x runs, examples]."""


def make_tasks(rng: np.random.Generator) -> list[Task]:
    labels = rng.integers(2, size=(TASKS, EXAMPLES))
    right = rng.random((TASKS, 2 * RUNS, EXAMPLES)) < 0.8
    return [
        (metric, truth, np.where(ok, truth, 1 - truth))
        for metric, truth, ok in zip(list(SCORERS) * (TASKS // 2), labels, right, strict=True)
    ]


def arms(tasks: Sequence[Task], replicates: int, paired: bool) -> list[dict[str, Runs]]:
    """Both arms' runs, from predictions to scores on resampled examples."""
    rng = np.random.default_rng(0)
    sides: list[dict[str, Runs]] = [{}, {}]
    for number, (metric, labels, predictions) in enumerate(tasks):
        counts = [METRICS[metric].counts(labels, row, None, LABELS) for row in predictions]
        scores = bootstrap_scores(
            {metric: np.stack(counts)}, {metric: METRICS[metric].from_counts}, replicates, rng
        )[metric]
        for place, side in enumerate(sides):
            shift = 0 if paired else place * SEEDS
            side[str(number)] = Runs(
                pretrain_seeds=np.repeat(np.arange(SEEDS), FINETUNES) + shift,
                finetune_seeds=np.tile(np.arange(FINETUNES), SEEDS),
                scores={"score": scores[:, place * RUNS : (place + 1) * RUNS]},
            )
    return sides


def multi_bootstrap(tasks: Sequence[Task], replicates: int, paired: bool) -> None:
    first, second = arms(tasks, replicates, paired)
    drawn = compare(first, second, replicates, np.random.default_rng(1), paired=paired)
    summarise(np.mean(list(drawn.values()), axis=0))


def welchs(tasks: Sequence[Task], replicates: int) -> None:
    means = [np.mean(list(seed_means(a).values()), axis=0) for a in arms(tasks, replicates, False)]
    welch(means[0], means[1], paired=False)


def loop(tasks: Sequence[Task], replicates: int) -> None:
    """Each replicate draws pretraining seeds and examples, and scores each drawn run anew."""
    rng = np.random.default_rng(2)
    for _ in range(replicates):
        seeds = rng.integers(SEEDS, size=SEEDS)
        for metric, labels, predictions in tasks:
            examples = rng.integers(EXAMPLES, size=EXAMPLES)
            rows = predictions.reshape(2, SEEDS, FINETUNES, EXAMPLES)[:, seeds][..., examples]
            for row in rows.reshape(-1, EXAMPLES):
                SCORERS[metric](labels[examples], row)


def seconds(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(arguments: argparse.Namespace) -> dict[str, list[float]]:
    tasks = make_tasks(np.random.default_rng(3))
    replicates, few = arguments.replicates, arguments.loop_replicates
    systems: dict[str, tuple[Callable[[], None], float]] = {
        "multi-bootstrap, paired": (lambda: multi_bootstrap(tasks, replicates, True), 1),
        "multi-bootstrap, unpaired": (lambda: multi_bootstrap(tasks, replicates, False), 1),
        "Welch": (lambda: welchs(tasks, replicates), 1),
        "loop": (lambda: loop(tasks, few), replicates / few),
    }
    spent: dict[str, list[float]] = {name: [] for name in systems}
    for repeat in range(arguments.repeats):
        for name, (call, factor) in systems.items():
            spent[name].append(factor * seconds(call))
        print(repeat, {name: round(values[-1], 2) for name, values in spent.items()}, flush=True)
    return spent


def table(figures: dict[str, Any]) -> str:
    """As markdown."""
    settings = figures["settings"]
    lines = [
        "# The bootstrap of a suite",
        "",
        f"{settings['replicates']:,} replicates for two arms of {SEEDS} x {FINETUNES} seeds on "
        f"{TASKS} tasks of {EXAMPLES:,} examples, median of {settings['repeats']} runs; one "
        f"thread, Python {figures['python']}, numpy {figures['numpy']}. The loop was timed on "
        f"{settings['loop_replicates']} replicates.",
        "",
        "| | seconds | loop / it |",
        "|---|---:|---:|",
    ]
    for name, values in figures["seconds"].items():
        ratio = np.median(np.divide(figures["seconds"]["loop"], values))
        lines.append(f"| {name} | {np.median(values):.2f} | {ratio:.0f} x |")
    return "\n".join([*lines, "", "Made by `python benchmarks/bootstrap_speed.py`.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--loop-replicates", type=int, default=3)
    arguments = parser.parse_args()
    found = measure(arguments)
    figures = {
        "settings": vars(arguments),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "seconds": {name: [round(value, 3) for value in values] for name, values in found.items()},
    }
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n")
    RESULTS.with_suffix(".md").write_text(table(figures))
    print(table(figures))


if __name__ == "__main__":
    main()
