"""The files beside a report: every run, trial and stage, and the resolved experiment."""

import pandas as pd
import yaml

from harness.analysis.frames.scores import checkpoint_scores_frame, scores_frame
from harness.analysis.frames.trials import trials_frame
from harness.analysis.results import Results
from harness.core.csv_text import frame_csv
from harness.report.sections.decisions import decisions_frame
from harness.report.sections.loss_differences import loss_differences

RESOLVED = "experiment.yaml"
"""Every report has it."""
STAGE_COLUMNS = ["key", "kind", "label", "finished", "seconds"]


def downloads(results: Results) -> dict[str, str]:
    """File name to content; files without rows are omitted."""
    frames = {
        "scores.csv": _all_scores(results),
        "loss_differences.csv": loss_differences(results),
        "decisions.csv": decisions_frame(results),
        "trials.csv": results.get(trials_frame),
        "stages.csv": _stages(results),
    }
    resolved = results.plan.declaration.resolved()
    return {
        **{name: frame_csv(frame) for name, frame in frames.items() if len(frame)},
        RESOLVED: yaml.dump(resolved, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True),
    }


DESCRIPTIONS = {
    "leaderboard.csv": "the leaderboard with unrounded scores",
    "leaderboard.md": "the leaderboard as markdown",
    "differences.csv": "every difference with interval and p",
    "verdicts.csv": "the verdict on every expectation, with the claims that it tests",
    "scores.csv": "the score of every run, with seeds and stage key",
    "loss_differences.csv": "every difference in held-out loss with interval and p",
    "decisions.csv": "the pairs of arms that each level of an axis orders as the last one does",
    "trials.csv": "every trial of the hyperparameter search",
    "stages.csv": "the key, state and seconds of every stage",
    RESOLVED: "the resolved experiment, every field of every arm",
}
"""What the files beside a report hold."""


def _all_scores(results: Results) -> pd.DataFrame:
    """The scores of checkpoints, if any, and of the final networks."""
    ends = results.get(scores_frame).assign(pretrain_fraction=1.0)
    checkpoints = results.get(checkpoint_scores_frame)
    return pd.concat([checkpoints, ends], ignore_index=True) if len(checkpoints) else ends


def _stages(results: Results) -> pd.DataFrame:
    rows = [
        (key, stage.kind, stage.label, key in results.finished, results.metric(key, "seconds"))
        for key, stage in results.plan.stages.items()
    ]
    return pd.DataFrame(rows, columns=STAGE_COLUMNS)
