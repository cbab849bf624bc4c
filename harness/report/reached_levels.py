"""Tokens of pretraining until a score reaches a level, by pretraining seed.

The curve of a run joins its scores at the kept checkpoints and at the end by straight lines. A run
that never reaches the level counts with the whole budget (it is censored on the right), and one
that has reached it by the first checkpoint counts with that one (censored on the left). Arms count
alike: within the tokens from the last of their first checkpoints to the least of their budgets.
Cutting off keeps the order of any two runs, and makes their difference smaller. The means are
restricted means (Royston and Parmar 2013, "Restricted mean survival time: an alternative to the
hazard ratio", BMC Medical Research Methodology 13).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.analysis.frames.costs import pretraining_costs
from harness.analysis.frames.scores import checkpoint_probes_frame, probes_frame
from harness.analysis.results import Results
from harness.experiment.outcomes import AVERAGE, ReachedLevel
from harness.report.sections.curves import learning_points, task_points
from harness.tasks.probes.columns import probe_columns

Curves = Mapping[str, Sequence[tuple[np.ndarray, np.ndarray]]]
"""Arm to the tokens [num_points], ascending, and the scores x 100 there, of each pretraining
seed."""

SEED = ["arm", "pretrain_seed"]


@dataclass(frozen=True)
class ReachedTokens:
    """When the runs of arms reach a level."""

    values: Mapping[str, np.ndarray]
    """Arm to the tokens of each pretraining seed [num_seeds], from `first` to `last`."""
    first: float
    """Tokens at the first checkpoint."""
    last: float
    """Tokens at the end of pretraining."""

    @property
    def never(self) -> int:
        """Runs that do not reach the level."""
        return sum(int((own >= self.last).sum()) for own in self.values.values())

    @property
    def at_once(self) -> int:
        """Runs that have reached the level by the first checkpoint."""
        own = [of[of < self.last] for of in self.values.values()]
        return sum(int((of <= self.first).sum()) for of in own)

    @property
    def runs(self) -> int:
        """All runs."""
        return sum(map(len, self.values.values()))

    @property
    def undecided(self) -> str:
        """Why the runs cannot be compared, if none reaches the level between two checkpoints; they
        are not equal by that."""
        if self.never + self.at_once < self.runs:
            return ""
        return (
            "no run reaches the level between two checkpoints: "
            f"{self.never} of {self.runs} not before the end, {self.at_once} by the first"
        )

    @property
    def note(self) -> str:
        """How many runs are cut off, to follow another text; empty if none is."""
        ends = {
            "do not reach the level before the end": self.never,
            "have reached it by the first checkpoint": self.at_once,
        }
        cut_off = [f"{number} {how}" for how, number in ends.items() if number]
        if not cut_off:
            return ""
        return (
            f"; of {self.runs} runs, {' and '.join(cut_off)} and count with these tokens, which "
            "makes differences between runs smaller"
        )


def reached_tokens(results: Results, reached: ReachedLevel, arms: Sequence[str]) -> ReachedTokens:
    """When the runs of these arms reach a level; without arms of which a score is missing."""
    curves = {arm: own for arm, own in curves_of(results, reached.score).items() if arm in arms}
    if not curves:
        return ReachedTokens({}, math.nan, math.nan)
    runs = [tokens for own in curves.values() for tokens, _ in own]
    first = max(float(tokens[0]) for tokens in runs)
    last = min(float(tokens[-1]) for tokens in runs)
    values = {
        arm: np.array([tokens_to(reached.level, *curve) for curve in own]).clip(first, last)
        for arm, own in curves.items()
    }
    return ReachedTokens(values, first, last)


def tokens_to(level: float, tokens: np.ndarray, scores: np.ndarray) -> float:
    """Tokens at which the curve first reaches the level; at the latest the last.

    Args:
        tokens, scores: [num_points], tokens ascending.
    """
    above = np.flatnonzero(scores >= level)
    if not len(above):
        return float(tokens[-1])
    place = int(above[0])
    if not place:
        return float(tokens[0])
    before = slice(place - 1, place + 1)
    return float(np.interp(level, scores[before], tokens[before]))


def curves_of(results: Results, score: str) -> Curves:
    """The curves of arms with kept checkpoints in a score; without arms of which a score is missing
    or the tokens are not known."""
    points = _points(results, score).astype({"tokens": float, "score": float})
    most = points.groupby("arm")["tokens"].nunique()
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    ordered = points.sort_values([*SEED, "tokens"])
    for (arm, _), run in ordered.groupby(SEED):
        complete = len(run) == most[str(arm)] and np.isfinite(run[["tokens", "score"]]).all(
            axis=None
        )
        curve = (run["tokens"].to_numpy(), run["score"].to_numpy())
        found.setdefault(str(arm), []).append(curve if complete else (np.zeros(0), np.zeros(0)))
    return {arm: own for arm, own in found.items() if most[arm] > 1 and all(len(t) for t, _ in own)}


def _points(results: Results, score: str) -> pd.DataFrame:
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
