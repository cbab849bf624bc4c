"""The result of running a plan: what is finished, what failed and why."""

from dataclasses import dataclass, field

from harness.plan.plan import Plan
from harness.store.store import StageResult


class StagesFailedError(RuntimeError):
    """Stages of a run failed. The others are computed and recorded."""


@dataclass
class Execution:
    """Result of one call of `execute`."""

    finished: dict[str, StageResult] = field(default_factory=dict)
    """Key to result of every finished stage of the plan, whenever it was computed."""
    failed: dict[str, str] = field(default_factory=dict)
    """Key to a one-line reason."""
    computed: list[str] = field(default_factory=list)
    """Keys of the stages computed by this call, in order of completion."""
    dropped: list[str] = field(default_factory=list)
    """Keys of the stages of which another process took over the lease, once for each time."""
    problems: list[str] = field(default_factory=list)
    """Views that could not be updated, such as the study's pages in MLflow, with the reasons."""

    def raise_failures(self, plan: Plan) -> None:
        """Raises an error if stages failed.

        Raises:
            StagesFailedError: with a line for each failed stage and its reason.
        """
        if self.failed:
            stages = [(plan.stages[key], reason) for key, reason in self.failed.items()]
            lines = [f"  {stage.kind} {stage.label}: {reason}" for stage, reason in stages]
            total = f"{len(lines)} of {len(plan.stages)} stages failed:"
            raise StagesFailedError("\n".join([total, *lines]))
