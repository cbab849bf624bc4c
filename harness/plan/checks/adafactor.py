"""Learning rates that Adafactor does not reach."""

from collections.abc import Iterator, Mapping

from harness.finetuning.search.pretrain_search import is_searched
from harness.finetuning.search.space import Range
from harness.plan.costs import pretraining_cost
from harness.plan.plan import Plan
from harness.pretraining.optimizer_kinds import share_capped
from harness.pretraining.schedule import checkpoint_steps

MOST_CAPPED = 0.5
"""Share of the updates in which the schedule should not be replaced."""
RATE = "optimizer.learning_rate"


def capped_learning_rate(plan: Plan, chosen: Mapping[str, float] | None = None) -> Iterator[str]:
    """Runs whose scheduled rate is replaced in most updates by 1/sqrt(step), the highest that
    Adafactor has (Shazeer and Stern 2018, algorithm 4).

    Args:
        chosen: arm to the rate that a search chose; of others, the highest of the search is taken.
    """
    groups: dict[tuple[float, int, int], list[str]] = {}
    for arm in plan.arms:
        run = arm.pretrain
        steps = pretraining_cost(run).steps
        if run.optimizer.kind == "adafactor" and steps:
            rate = (chosen or {}).get(arm.name) or _highest_rate(plan, arm.name)
            kept = checkpoint_steps(run.checkpoint_fractions, steps)
            share = share_capped(rate, run.schedule, steps, kept)
            if share > MOST_CAPPED:
                groups.setdefault((rate, steps, round(100 * share)), []).append(arm.name)
    for (rate, steps, percent), arms in groups.items():
        yield (
            f"{', '.join(arms)}: with a learning rate of {rate:g}, Adafactor has 1/sqrt(step), "
            f"which is lower than the schedule's, in {percent} % of {steps:,} updates; a higher "
            "rate changes the first and last updates alone; lower pretrain.optimizer.learning_rate"
        )


def _highest_rate(plan: Plan, name: str) -> float:
    run = next(arm.pretrain for arm in plan.arms if arm.name == name)
    searches = plan.search_of_arms
    space = searches[name].space if name in searches and is_searched(run) else {}
    found = space.get(RATE, (run.optimizer.learning_rate,))
    return found.high if isinstance(found, Range) else max(map(float, found))
