"""Predictions of two arms on the same examples, and whether they are correct."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harness.analysis.results import Results
from harness.analysis.statistics.mcnemar import McNemarTest, mcnemar
from harness.core.config import unknown_name
from harness.report.disagreements.judgements import VALUES, disagreement, is_tied, judged, right
from harness.tasks.examples import Examples, clusters
from harness.tasks.load_examples import IN_LISTS, load_examples
from harness.tasks.metrics.retrieval import NOT_FOUND
from harness.tasks.scores import plain, predictions_frame
from harness.tasks.task import Split, Task

TIE = "tie"
"""Shown if no answer has the majority of the seeds."""
CAVEAT = (
    "Exact McNemar test on the majority answers of the seeds, without the examples on which the "
    "right answer ties with another. The test compares these models on examples like these, not "
    "the ways in which they were pretrained; for that, see the intervals in the report."
)
NOT_INDEPENDENT = "no test, as examples of one group (a question, a subset) are not independent"
ALL_TIED = "no test, as on every example the right answer ties with another"


@dataclass(frozen=True)
class Flips:
    """Examples of a split that only one of two arms answers right, by its majority answer."""

    only_first: int
    only_second: int
    examples: int
    """Number of examples on which the majority answers of both arms are right or wrong."""
    test: McNemarTest | None
    """Null if examples share groups, and so are not independent, or if there are none."""

    @property
    def untested(self) -> str:
        """Why there is no test, where there is none."""
        return NOT_INDEPENDENT if self.examples else ALL_TIED


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
    flips: Mapping[str, Flips]
    """By split; none for numeric targets."""

    @property
    def tests(self) -> tuple[str, ...]:
        """One line per split on McNemar's test; none for numeric targets."""
        return tuple(_test(split, one, self.arms) for split, one in self.flips.items())


def find_disagreements(results: Results, task: str, arms: Sequence[str]) -> Disagreements:
    """Compares the finished runs of two arms on a task.

    Raises:
        ValueError: unknown or equal arms, an unknown task, no finished runs, data that changed
            since the runs, or seeds with a micro-world each.
    """
    if results.experiment.seeds.in_worlds:
        raise ValueError(
            f"arms must be scored on the same examples, but each pretraining seed of "
            f"{results.experiment.name} has those of a micro-world of its own (seeds.world: "
            "per_seed); name an experiment without that setting"
        )
    first, second = _checked(results, task, arms)
    value = results.experiment.evaluate.chosen[task]
    sides = {arm: arm_predictions(results, task, arm) for arm in (first, second)}
    splits = [split for split in value.evaluation if split.name in set(sides[first]["split"])]
    parts = [_of_split(value, split, sides) for split in splits]
    whole = pd.concat(parts, ignore_index=True)
    differing = whole[whole["disagreement"] > 0]
    return Disagreements(
        experiment=results.experiment.name,
        task=task,
        kind=value.kind,
        arms=(first, second),
        frame=differing.sort_values("disagreement", ascending=False, kind="stable"),
        examples=len(whole),
        flips=flipped_examples(value, sides),
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


def arm_predictions(results: Results, task: str, arm: str) -> pd.DataFrame:
    """The predictions of the finished runs of an arm on a task: split, index, label, prediction,
    and run (`pretrain.finetune` seeds).

    Raises:
        ValueError: no run has finished, or files are damaged.
    """
    frames = [
        results.predictions(run.key).assign(run=f"{run.pretrain_seed}.{run.finetune_seed}")
        for run in results.plan.finetune_runs
        if (run.arm, run.task, run.pretrain_fraction) == (arm, task, 1)
        and run.key in results.finished
    ]
    if not frames:
        raise ValueError(f"no run of {arm} on {task} has finished: run the experiment first")
    return pd.concat(frames, ignore_index=True)


def flipped_examples(task: Task, predictions: Mapping[str, pd.DataFrame]) -> dict[str, Flips]:
    """Split to the examples that only one of two arms answers right; empty for numeric targets.

    Args:
        predictions: each arm's, as `arm_predictions` returns them.
    """
    if task.kind in VALUES:
        return {}
    first, second = predictions.values()
    scored = set(first["split"]) & set(second["split"])
    splits = [split for split in task.evaluation if split.name in scored]
    return {
        split.name: _flips(
            _right(task, first, split),
            _right(task, second, split),
            not (split.group_field or task.group_field),
        )
        for split in splits
    }


def _flips(first: np.ndarray, second: np.ndarray, independent: bool) -> Flips:
    """Counts of examples, given whether each arm is right on them [num_examples], NaN in a tie.

    Args:
        independent: whether examples have no groups, so that they can be tested one by one.
    """
    decided = np.isfinite(first) & np.isfinite(second)
    one, other = first[decided] == 1, second[decided] == 1
    test = mcnemar(one, other) if independent and len(one) else None
    return Flips(int((one & ~other).sum()), int((~one & other).sum()), len(one), test)


def _right(task: Task, side: pd.DataFrame, split: Split) -> np.ndarray:
    """Whether the majority answer is right [num_examples]; NaN if a right answer ties with
    others."""
    _, labels, given = _answers(side, split)
    answers = judged(task, labels, given)[1]
    rows = zip(labels, given, answers, strict=True)
    return np.array(
        [
            np.nan if is_tied(task, label, row) else right(task, label, answer)
            for label, row, answer in rows
        ],
        dtype=float,
    )


def _answers(side: pd.DataFrame, split: Split) -> tuple[list[str], list[Any], list[list[Any]]]:
    """The runs of an arm, the labels of a split, and for each example the answers of all runs."""
    here = side[side["split"] == split.name]
    table = here.pivot(index="index", columns="run", values="prediction")
    labels = here[here["run"] == table.columns[0]].sort_values("index")["label"]
    given = [[plain(value) for value in row] for row in table.to_numpy()]
    return [str(run) for run in table], [plain(label) for label in labels], given


def _of_split(task: Task, split: Split, sides: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per example of a split."""
    examples = load_examples(task, split)
    frame = _texts(task, examples, split.name)
    labels = [plain(label) for label in predictions_frame("", examples, examples.labels)["label"]]
    frame["label"] = [_shown(task, label) for label in labels]
    shares, answers = [], []
    for arm, side in sides.items():
        runs, scored, given = _answers(side, split)
        if scored != labels:
            raise ValueError(
                f"the examples of {task.name} differ from those that {arm} was scored on: the data "
                "have changed; run the experiment again"
            )
        share, answer = judged(task, labels, given)
        frame[f"{arm}: answer"] = [_shown(task, one) for one in answer]
        if task.kind not in VALUES:
            pairs = zip(labels, answer, strict=True)
            frame[f"{arm}: right"] = [right(task, label, one) for label, one in pairs]
        frame[f"{arm}: {'error' if task.kind in VALUES else 'share right'}"] = share
        frame[f"{arm}: by seed"] = [
            "; ".join(f"{run} {_shown(task, one)}" for run, one in zip(runs, row, strict=True))
            for row in given
        ]
        shares.append(share)
        answers.append(answer)
    return frame.assign(disagreement=disagreement(task, shares, answers))


def _texts(task: Task, examples: Examples, split: str) -> pd.DataFrame:
    columns: dict[str, Any] = {"split": split, "index": np.arange(len(examples))}
    joined = [tuple(str(part) for part in parts) for parts in examples.texts]
    if task.kind not in IN_LISTS and all(len(parts) == 2 for parts in joined):
        columns |= {"text": [a for a, _ in joined], "second_text": [b for _, b in joined]}
    else:
        columns["text"] = [" ".join(parts) for parts in joined]
    if examples.choices:
        columns["choices"] = [" | ".join(choices) for choices in examples.choices]
    return pd.DataFrame(columns)


def _test(split: str, flips: Flips, arms: Sequence[str]) -> str:
    counts = (
        f"{split}: only {arms[0]} right on {flips.only_first}, only {arms[1]} on "
        f"{flips.only_second} of {flips.examples}"
    )
    if flips.test is None:
        return f"{counts}; {flips.untested}."
    found = flips.test
    return f"{counts}; p = {found.p_value:.3g} (smallest possible: {found.floor:.2g})."


def _shown(task: Task, answer: Any) -> str:
    """An answer as text, with the names of classes and tags; the words of mentions from 0, those of
    an entity together."""
    if answer is None:
        return TIE
    if task.kind == "coreference":
        entities = (" = ".join(f"{a}-{b}" for a, b in entity) for entity in clusters(answer))
        return "; ".join(entities)
    if isinstance(answer, list):
        if tuple(answer) == NOT_FOUND:
            return "not found"
        joiner = " " if task.kind == "tagging" else " / "
        return joiner.join(_shown(task, one) for one in answer)
    if isinstance(answer, float) and task.kind not in VALUES:
        number = int(answer)
        return task.labels[number] if 0 <= number < len(task.labels) else str(number)
    return f"{answer:.2f}" if isinstance(answer, float) else str(answer)
