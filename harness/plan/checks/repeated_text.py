"""Budgets that read a text too often."""

from collections.abc import Iterator

from harness.plan.checks.learned_budgets import LEARNED, measured_size
from harness.plan.checks.pretraining import budget_amount
from harness.plan.corpora import passes, times
from harness.plan.plan import Plan
from harness.pretraining.recipes.pretrain import Pretrain

MANY_PASSES = 4
"""Passes over a text up to which repeated tokens are worth almost as much as new ones (Muennighoff
et al. 2023, section 1)."""


def repeated_text(plan: Plan) -> Iterator[str]:
    """Budgets that read a corpus more than MANY_PASSES times."""
    groups: dict[tuple[str, str], list[str]] = {}
    for arm in plan.arms:
        read = passes(plan, arm)
        if read and read > MANY_PASSES:
            advice = "take more text" + _or_lower(arm.pretrain, MANY_PASSES / read)
            groups.setdefault((times(read), advice), []).append(arm.name)
    for (read_times, advice), arms in groups.items():
        yield (
            f"{', '.join(arms)}: the budget reads the corpus about {read_times} times, but beyond "
            f"{MANY_PASSES} passes repeated text is worth less and less (Muennighoff et al. 2023); "
            f"{advice}"
        )


def _or_lower(run: Pretrain, share: float) -> str:
    """`, or lower pretrain.budget.tokens to 470,000`: a share of the budget; empty if so few tokens
    are too few for the size, for which there is another warning."""
    unit, value = budget_amount(run)
    most = value * share
    size = measured_size(run.size)
    if unit == "tokens" and size and most < LEARNED[size].tokens:
        return ""
    step = 10 ** max(0, len(f"{most:.0f}") - 2)  # two digits, rounded down
    amount = f"{most:.2g}" if unit == "flops" else f"{most // step * step:,.0f}"
    return f", or lower pretrain.budget.{unit} to {amount}"
