"""Predictions of two arms on the same examples, and whether they are correct."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.results import Results
from harness.analysis.statistics.mcnemar import mcnemar
from harness.core.config import unknown_name
from harness.report.disagreements.judgements import VALUES, disagreement, judged, right
from harness.tasks.examples import Examples
from harness.tasks.load_examples import load_examples
from harness.tasks.scores import predictions_frame
from harness.tasks.task import Split, Task

TIE = "tie"
"""Shown if no answer has the majority of the seeds."""
CAVEAT = (
    "Exact McNemar test on the majority answers of the seeds; a tie between answers counts as "
    "wrong. The test compares these models on examples like these, not the ways in which they were "
    "pretrained; for that, see the intervals in the report."
)


@dataclass(frozen=True)
class Disagreements:
    """The examples on which two arms disagree, largest disagreement first."""

    experiment: str
    task: str
    kind: str
    arms: tuple[str, str]
    frame: pd.DataFrame
    """Columns split, index, text (and second_text, choices), label; for each arm its majority
    answer (or `tie`), whether it is right, the share of seeds that are right (for numeric targets:
    the mean answer and the mean absolute error), and its answers by seed; disagreement."""
    examples: int
    """Number of all examples, with and without disagreement."""
    tests: tuple[str, ...]
    """One line per split on McNemar's test; none for numeric targets."""


def find_disagreements(results: Results, task: str, arms: Sequence[str]) -> Disagreements:
    """Compares the finished runs of two arms on a task.

    Raises:
        ValueError: unknown or equal arms, an unknown task, no finished runs, or data that changed
            since the runs.
    """
    first, second = _checked(results, task, arms)
    value = results.experiment.evaluate.chosen[task]
    sides = [_predictions(results, task, arm) for arm in (first, second)]
    splits = [split for split in value.evaluation if split.name in set(sides[0]["split"])]
    parts = [_of_split(value, split, (first, second), sides) for split in splits]
    whole = pd.concat(parts, ignore_index=True)
    differing = whole[whole["disagreement"] > 0]
    return Disagreements(
        experiment=results.experiment.name,
        task=task,
        kind=value.kind,
        arms=(first, second),
        frame=differing.sort_values("disagreement", ascending=False, kind="stable"),
        examples=len(whole),
        tests=() if value.kind in VALUES else tuple(_test(part, (first, second)) for part in parts),
    )


def _checked(results: Results, task: str, arms: Sequence[str]) -> tuple[str, str]:
    known = [arm.name for arm in results.plan.arms]
    for arm in arms:
        if arm not in known:
            raise ValueError(unknown_name("the arm", arm, known))
    if len(set(arms)) != 2:
        raise ValueError(f"two different arms must be given, not {', '.join(arms)}")
    chosen = results.experiment.evaluate.chosen
    if task not in chosen:
        raise ValueError(unknown_name("the task", task, chosen))
    return arms[0], arms[1]


def _predictions(results: Results, task: str, arm: str) -> pd.DataFrame:
    """Columns split, index, label, prediction, and run: `pretrain.finetune` seeds."""
    frames = [
        results.predictions(run.key).assign(run=f"{run.pretrain_seed}.{run.finetune_seed}")
        for run in results.plan.finetune_runs
        if (run.arm, run.task, run.pretrain_fraction) == (arm, task, 1)
        and run.key in results.finished
    ]
    if not frames:
        raise ValueError(f"no run of {arm} on {task} has finished: run the experiment first")
    return pd.concat(frames, ignore_index=True)


def _of_split(
    task: Task, split: Split, arms: Sequence[str], sides: Sequence[pd.DataFrame]
) -> pd.DataFrame:
    """One row per example of a split."""
    examples = load_examples(task, split)
    frame = _texts(examples, split.name)
    labels = [_plain(label) for label in predictions_frame("", examples, examples.labels)["label"]]
    frame["label"] = [_shown(task, label) for label in labels]
    shares, answers = [], []
    for arm, side in zip(arms, sides, strict=True):
        here = side[side["split"] == split.name]
        table = here.pivot(index="index", columns="run", values="prediction")
        scored = here[here["run"] == table.columns[0]].sort_values("index")["label"]
        if [_plain(label) for label in scored] != labels:
            raise ValueError(
                f"the examples of {task.name} differ from those that {arm} was scored on: the data "
                "have changed; run the experiment again"
            )
        given = [[_plain(value) for value in row] for row in table.to_numpy()]
        share, answer = judged(task, labels, given)
        frame[f"{arm}: answer"] = [_shown(task, one) for one in answer]
        if task.kind not in VALUES:
            pairs = zip(labels, answer, strict=True)
            frame[f"{arm}: right"] = [right(task, label, one) for label, one in pairs]
        frame[f"{arm}: {'error' if task.kind in VALUES else 'share right'}"] = share
        frame[f"{arm}: by seed"] = [
            "; ".join(f"{run} {_shown(task, one)}" for run, one in zip(table, row, strict=True))
            for row in given
        ]
        shares.append(share)
        answers.append(answer)
    return frame.assign(disagreement=disagreement(task, shares, answers))


def _texts(examples: Examples, split: str) -> pd.DataFrame:
    columns: dict[str, Any] = {"split": split, "index": np.arange(len(examples))}
    joined = [tuple(str(part) for part in parts) for parts in examples.texts]
    if all(len(parts) == 2 for parts in joined):
        columns |= {"text": [a for a, _ in joined], "second_text": [b for _, b in joined]}
    else:
        columns["text"] = [" ".join(parts) for parts in joined]
    if examples.choices:
        columns["choices"] = [" | ".join(choices) for choices in examples.choices]
    return pd.DataFrame(columns)


def _test(part: pd.DataFrame, arms: Sequence[str]) -> str:
    first, second = (part[f"{arm}: right"].to_numpy(dtype=bool) for arm in arms)
    only_first, only_second = int((first & ~second).sum()), int((~first & second).sum())
    test = mcnemar(first, second)
    return (
        f"{part['split'].iloc[0]}: only {arms[0]} right on {only_first}, only {arms[1]} on "
        f"{only_second} of {len(part)}; p = {test.p_value:.3g} (smallest possible: "
        f"{test.floor:.2g})."
    )


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _shown(task: Task, answer: Any) -> str:
    """An answer as text, with the names of classes and tags."""
    if answer is None:
        return TIE
    if isinstance(answer, list):
        joiner = " " if task.kind == "tagging" else " / "
        return joiner.join(_shown(task, one) for one in answer)
    if isinstance(answer, float) and task.kind not in VALUES:
        number = int(answer)
        return task.labels[number] if 0 <= number < len(task.labels) else str(number)
    return f"{answer:.2f}" if isinstance(answer, float) else str(answer)
