"""Another experiment of the store that has the name of a plan's."""

from collections.abc import Iterator

from harness.plan.plan import Plan
from harness.store.recorded import RecordedExperiment
from harness.store.store import Store

MAX_QUESTION = 80
"""Characters of the other question in the warning."""


def same_name(plan: Plan, store: Store) -> Iterator[str]:
    """A warning if the latest run of this name had another question and no stage in common, as of a
    copied file: its report and its rows on boards would be replaced. A changed question of the
    same stages is the same experiment."""
    name = plan.experiment.name
    folder = store.experiments().get(name)
    if folder is None:
        return
    earlier = RecordedExperiment(name, folder)
    question = earlier.spec["experiment"].get("question") or plan.experiment.question
    if question != plan.experiment.question and not earlier.stages & plan.stages.keys():
        yield (
            f"the store has another experiment named {name!r} ({question:.{MAX_QUESTION}}), whose "
            "report and rows on boards a run of this one replaces; give this one another name"
        )
