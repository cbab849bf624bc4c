"""Seconds of the multi-bootstrap and of Welch's interval on a suite, against a plain loop.

    python benchmarks/bootstrap_speed.py [--repeats 3] [--replicates 1000] [--loop-replicates 3]

Two arms of 5 pretraining seeds x 5 fine-tuning seeds on 8 tasks of 2,000 examples; half of the
tasks are scored by accuracy, half by Matthews' correlation; one thread. The target is less than 5
seconds. `paired` has the same seed numbers in both arms, `unpaired` different ones. The loop draws
seeds and examples and calls scikit-learn for every run, replicate by replicate, as the code of
Sellam et al. 2022 does; it is timed on fewer replicates and its time scaled up.
"""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import accuracy_score, matthews_corrcoef

from benchmarks import common
from harness.analysis.statistics.bootstrap import Runs, bootstrap_scores, compare, summarise
from harness.analysis.statistics.welch import seed_means, welch
from harness.tasks.metrics import METRICS

SEEDS, FINETUNES, TASKS, EXAMPLES = 5, 5, 8, 2_000
RUNS = SEEDS * FINETUNES
SCORERS = {"accuracy": accuracy_score, "matthews": matthews_corrcoef}
LABELS = ("no", "yes")

Task = tuple[str, np.ndarray, np.ndarray]
"""Metric, labels [examples], predictions [2 arms x runs, examples]."""


def make_tasks(rng: np.random.Generator) -> list[Task]:
    """Tasks of which every run answers 80 % correctly."""
    labels = rng.integers(2, size=(TASKS, EXAMPLES))
    correct = rng.random((TASKS, 2 * RUNS, EXAMPLES)) < 0.8
    return [
        (metric, truth, np.where(ok, truth, 1 - truth))
        for metric, truth, ok in zip(list(SCORERS) * (TASKS // 2), labels, correct, strict=True)
    ]


def arms(tasks: Sequence[Task], replicates: int, paired: bool) -> list[dict[str, Runs]]:
    """Task to runs of both arms, from predictions to scores on resampled examples."""
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
    """The interval of the average by the multi-bootstrap."""
    first, second = arms(tasks, replicates, paired)
    drawn = compare(first, second, replicates, np.random.default_rng(1), paired=paired)
    summarise(np.mean(list(drawn.values()), axis=0))


def welch_interval(tasks: Sequence[Task], replicates: int) -> None:
    """Welch's interval of the average."""
    means = [np.mean(list(seed_means(a).values()), axis=0) for a in arms(tasks, replicates, False)]
    welch(means[0], means[1], paired=False)


def loop(tasks: Sequence[Task], replicates: int) -> None:
    """Each replicate draws pretraining seeds and examples, and scores each drawn run again."""
    rng = np.random.default_rng(2)
    for _ in range(replicates):
        seeds = rng.integers(SEEDS, size=SEEDS)
        for metric, labels, predictions in tasks:
            examples = rng.integers(EXAMPLES, size=EXAMPLES)
            rows = predictions.reshape(2, SEEDS, FINETUNES, EXAMPLES)[:, seeds][..., examples]
            for row in rows.reshape(-1, EXAMPLES):
                SCORERS[metric](labels[examples], row)


def measure(replicates: int, loop_replicates: int, repeats: int) -> common.Measurements:
    """Seconds of each system for `replicates` replicates."""
    tasks = make_tasks(np.random.default_rng(3))
    calls = {
        "multi-bootstrap, paired": partial(multi_bootstrap, tasks, replicates, paired=True),
        "multi-bootstrap, unpaired": partial(multi_bootstrap, tasks, replicates, paired=False),
        "Welch": partial(welch_interval, tasks, replicates),
        "loop": partial(loop, tasks, loop_replicates),
    }
    systems = {name: partial(common.seconds, call) for name, call in calls.items()}
    found = common.measure_in_turns(systems, repeats)
    factor = {"loop": replicates / loop_replicates}
    return {name: [factor.get(name, 1) * s for s in spent] for name, spent in found.items()}


def page(figures: dict[str, Any]) -> str:
    """The figures as markdown."""
    chosen, seconds = figures["settings"], figures["seconds"]
    rows = [
        [name, f"{np.median(spent):.2f}", f"{common.median_ratio(seconds, 'loop', name):.0f} x"]
        for name, spent in seconds.items()
    ]
    setting = (
        f"{chosen['replicates']:,} replicates for two arms of {SEEDS} x {FINETUNES} seeds on "
        f"{TASKS} tasks of {EXAMPLES:,} examples, median of {chosen['repeats']} runs; one thread, "
        f"Python {figures['python']}, numpy {figures['numpy']}. The loop was timed on "
        f"{chosen['loop_replicates']} replicates."
    )
    head = ("method", "seconds", "loop / it")
    return common.markdown(__file__, "The bootstrap of a suite", setting, head, rows)


def main() -> None:
    """Measures and writes the figures."""
    defaults = {"repeats": 3, "replicates": 1000, "loop_replicates": 3}
    arguments = common.parse_arguments(__doc__, "bootstrap_speed", **defaults)
    seconds = measure(**common.settings(arguments))
    rounded = {name: [round(value, 3) for value in values] for name, values in seconds.items()}
    figures = {"settings": common.settings(arguments), **common.machine("numpy")}
    figures["seconds"] = rounded
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
