"""Tokens of pretraining, labels or epochs until a score reaches a level, by pretraining seed.

The curve of a run joins its scores at the kept checkpoints and at the end by straight lines; by the
number of labels or epochs, it joins those of the arms that differ in it. A run that never reaches
the level counts with the largest amount (it is censored on the right), and one that has reached it
at the first point counts with that one (censored on the left). Arms count alike: within the amounts
from the last of their first points to the least of their last ones. Cutting off keeps the order of
any two runs, and makes their difference smaller. The means are restricted means (Royston and Parmar
2013, "Restricted mean survival time: an alternative to the hazard ratio", BMC Medical Research
Methodology 13).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.analysis.frames.costs import pretraining_costs
from harness.analysis.frames.scores import checkpoint_probes_frame, probes_frame, scores_frame
from harness.analysis.results import Results
from harness.analysis.seed_scores import seed_scores
from harness.experiment.lines import line_of
from harness.experiment.outcomes import AVERAGE, ReachedLevel
from harness.leaderboard.build import experiment_table
from harness.report.run_scores import seed_averages
from harness.report.sections.curves import learning_points, task_points
from harness.tasks.probes.columns import probe_columns

Curves = Mapping[str, Sequence[tuple[np.ndarray, np.ndarray]]]
"""Arm to the amounts [num_points], ascending, and the scores x 100 there, of each pretraining
seed."""
BETWEEN = {
    "tokens": ("two checkpoints", "before the end", "by the first checkpoint"),
    "labels": ("two numbers of labels", "with the most labels", "with the fewest labels"),
    "epochs": ("two numbers of epochs", "with the most epochs", "with the fewest epochs"),
}
"""Amount to its points, the last and the first."""

SEED = ["arm", "pretrain_seed"]


@dataclass(frozen=True)
class ReachedAmounts:
    """When the runs of arms reach a level."""

    values: Mapping[str, np.ndarray]
    """Arm to the amount of each pretraining seed [num_seeds], from `first` to `last`."""
    first: float
    """The amount at the first point."""
    last: float
    """The amount at the last point: the end of pretraining, the most labels or epochs."""
    amount: str = "tokens"
    """One of `harness.experiment.outcomes.AMOUNTS`."""

    @property
    def never(self) -> int:
        """Runs that do not reach the level."""
        return sum(int((own >= self.last).sum()) for own in self.values.values())

    @property
    def at_once(self) -> int:
        """Runs that have reached the level at the first point."""
        own = [of[of < self.last] for of in self.values.values()]
        return sum(int((of <= self.first).sum()) for of in own)

    @property
    def runs(self) -> int:
        """All runs."""
        return sum(map(len, self.values.values()))

    @property
    def undecided(self) -> str:
        """Why the runs cannot be compared, if none reaches the level between two points; they are
        not equal by that."""
        if self.never + self.at_once < self.runs:
            return ""
        points, last, first = BETWEEN[self.amount]
        return (
            f"no run reaches the level between {points}: {self.never} of {self.runs} not {last}, "
            f"{self.at_once} {first}"
        )

    @property
    def note(self) -> str:
        """How many runs are cut off, to follow another text; empty if none is."""
        _, last, first = BETWEEN[self.amount]
        ends = {
            f"do not reach the level {last}": self.never,
            f"have reached it {first}": self.at_once,
        }
        cut_off = [f"{number} {how}" for how, number in ends.items() if number]
        if not cut_off:
            return ""
        return (
            f"; of {self.runs} runs, {' and '.join(cut_off)} and count with these {self.amount}, "
            "which makes differences between runs smaller"
        )


def reached_amounts(results: Results, reached: ReachedLevel, arms: Sequence[str]) -> ReachedAmounts:
    """When the runs of these arms reach a level; without arms of which a score is missing."""
    curves = {arm: own for arm, own in curves_of(results, reached, arms).items() if arm in arms}
    if not curves:
        return ReachedAmounts({}, math.nan, math.nan, reached.amount)
    runs = [amounts for own in curves.values() for amounts, _ in own]
    first = max(float(amounts[0]) for amounts in runs)
    last = min(float(amounts[-1]) for amounts in runs)
    values = {
        arm: np.array([amount_to(reached.level, *curve) for curve in own]).clip(first, last)
        for arm, own in curves.items()
    }
    return ReachedAmounts(values, first, last, reached.amount)


def amount_to(level: float, amounts: np.ndarray, scores: np.ndarray) -> float:
    """The amount at which the curve first reaches the level; at most the last.

    Args:
        amounts, scores: [num_points], amounts ascending.
    """
    above = np.flatnonzero(scores >= level)
    if not len(above):
        return float(amounts[-1])
    place = int(above[0])
    if not place:
        return float(amounts[0])
    before = slice(place - 1, place + 1)
    return float(np.interp(level, scores[before], amounts[before]))


def curves_of(results: Results, reached: ReachedLevel, arms: Sequence[str]) -> Curves:
    """The curves of arms with several points in a score; without arms of which a score is missing
    or the amounts are not known.

    Args:
        arms: that labels or epochs are counted of.
    """
    points = (
        _points_of_pretraining(results, reached.score)
        if reached.amount == "tokens"
        else _points_of_lines(results, reached, arms)
    ).astype({"amount": float, "score": float})
    most = points.groupby("arm")["amount"].nunique()
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for (arm, _), run in points.sort_values([*SEED, "amount"]).groupby(SEED):
        complete = len(run) == most[str(arm)] and np.isfinite(run[["amount", "score"]]).all(
            axis=None
        )
        curve = (run["amount"].to_numpy(), run["score"].to_numpy())
        found.setdefault(str(arm), []).append(curve if complete else (np.zeros(0), np.zeros(0)))
    return {arm: own for arm, own in found.items() if most[arm] > 1 and all(len(a) for a, _ in own)}


def _points_of_lines(results: Results, reached: ReachedLevel, arms: Sequence[str]) -> pd.DataFrame:
    """Rows of arm, pretrain_seed, amount and score x 100: those of each arm's line."""
    if reached.score == AVERAGE:
        scores = results.get(seed_averages).rename(columns={"average": "score"})
    else:
        columns = {one.name: one for one in results.get(experiment_table).columns}
        found = seed_scores(results.get(scores_frame), columns[reached.score])
        scores = found.rename("score").reset_index()
    frames = []
    for name in arms:
        line = line_of(results.experiment, results.plan.arms, name, reached.amount)
        own = scores[scores["arm"].isin(line)]
        # An arm without any score leaves a gap in the line, which makes its curve incomplete.
        absent = pd.DataFrame({"arm": [one for one in line if one not in set(own["arm"])]})
        own = pd.concat([own, absent])
        frames.append(own.assign(amount=own["arm"].map(line), arm=name))
    return pd.concat(frames)[[*SEED, "amount", "score"]]


def _points_of_pretraining(results: Results, score: str) -> pd.DataFrame:
    """Rows of arm, pretrain_seed, amount (tokens) and score x 100."""
    return _pretraining_points(results, score).rename(columns={"tokens": "amount"})


def _pretraining_points(results: Results, score: str) -> pd.DataFrame:
    """Rows of arm, pretrain_seed, tokens and score x 100."""
    if score == AVERAGE:
        return results.get(learning_points).rename(columns={"average": "score"})
    probes = probe_columns(results.experiment.evaluate.probes)
    if score not in probes:
        points = results.get(task_points)
        return points[points["column"] == score]
    column = probes[score]
    ends = results.get(probes_frame).assign(pretrain_fraction=1.0)
    points = pd.concat([results.get(checkpoint_probes_frame), ends], ignore_index=True)
    points = points[(points["probe"] == column.task) & (points["category"] == column.split)]
    tokens = points["arm"].map(pretraining_costs(results)["tokens"])
    return points.assign(
        tokens=points["pretrain_fraction"].astype(float) * tokens.astype(float),
        score=100 * points["score"].astype(float),
    )
