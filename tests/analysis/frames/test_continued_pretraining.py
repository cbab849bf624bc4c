"""Each loss of continued pretraining is that of its own stage."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from harness.analysis.frames.continued_pretraining import continued_losses_frame
from harness.analysis.results import Results
from harness.plan.costs import Cost
from harness.plan.plan import ContinuedRun

STAGES = ("run", "before", "pretraining before", "pretraining after")


def test_losses_before_and_after_are_not_mixed_up() -> None:
    """The third arm predicts no tokens of its text before, so that none stands beside the loss."""
    cost = Cost(1, 512, 1_000, 1e6)
    runs = [
        ContinuedRun("mlm", "a", 0, "biomed", 3, "run", cost, *STAGES[1:]),
        ContinuedRun("checkpoint", "a", 0, "biomed", 3, "run", cost, "before", None, None),
        ContinuedRun("rtd", "a", 0, "biomed", 3, "run", cost, None, *STAGES[2:]),
    ]
    plan: Any = SimpleNamespace(continued_runs=runs)
    results = Results(plan, store=cast(Any, None))
    results.__dict__["plan"] = plan
    results.__dict__["finished"] = {
        key: SimpleNamespace(metrics={"validation_loss": float(place)})
        for place, key in enumerate(STAGES)
    }
    frame = continued_losses_frame(results).set_index("arm")
    names = ["loss_after", "loss_before", "pretrain_loss_before", "pretrain_loss_after"]
    expected = [[0, 1, 2, 3], [0, 1, np.nan, np.nan], [np.nan, np.nan, 2, 3]]
    np.testing.assert_array_equal(frame[names].to_numpy(float), expected)
