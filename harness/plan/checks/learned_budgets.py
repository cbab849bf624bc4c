"""Budgets of too few updates, or of fewer tokens than networks of a size have learned from."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.models import SIZES, Size
from harness.plan.checks.pretraining import grouped_runs, raised_budget
from harness.plan.costs import pretraining_cost
from harness.plan.plan import Plan
from harness.pretraining.recipes.pretrain import Pretrain

FEW_UPDATES = 500
"""Updates below which networks of the shipped experiments stay near the loss of their first
updates."""
SMALLEST_BATCH = 8
"""Sequences of the smallest batch that a warning recommends."""
NETWORKS = ("encoder", "decoder", "encoder_decoder")
"""Kinds of model whose layers are those that were measured."""


@dataclass(frozen=True)
class LearnedBudget:
    """The fewest tokens with which a network of a size is known to have learned."""

    tokens: int
    network: str
    score: str
    """Its average over micro-GLUE, beside chance."""
    experiment: str
    """A shipped one, which measured it."""


LEARNED: Mapping[str, LearnedBudget] = {
    "nano": LearnedBudget(
        1_000_000,
        "masked language modelling",
        "54.1 on micro-GLUE, where chance is 33.3; with 500,000, four of the six tasks stayed at "
        "chance",
        "pretraining/learning_curves",
    ),
    "tiny": LearnedBudget(
        339_456,
        "BART",
        "61.5 on micro-GLUE, where chance is 38.3; RoBERTa, with 768,000, 42.2",
        "suites/micro_glue",
    ),
}
"""Name in `SIZES` to what was measured, on the micro-world; other sizes were not. A task stays at
chance if chance lies within the mean ± standard deviation over seeds."""


@dataclass(frozen=True)
class FewTokens:
    """A budget of fewer tokens than any network of the size has learned from."""

    size: str
    tokens: int
    factor: float
    """By which the budget would have to be raised."""

    def __str__(self) -> str:
        known = LEARNED[self.size]
        return (
            f"{self.tokens:,} tokens are fewer than {known.tokens:,}, the smallest budget with "
            f"which a network of size {self.size} is known to have learned "
            f"({known.network}: {known.score}; experiment {known.experiment})"
        )


def few_updates(plan: Plan) -> Iterator[str]:
    """Runs of few updates, with the batch size or the budget that would give more; if their tokens
    are few, too, with the budget that gives enough of both."""
    few = _few_tokens(plan)
    arms: dict[str, list[str]] = defaultdict(list)
    for steps, names, run in grouped_runs(plan):
        groups: dict[FewTokens | None, list[str]] = defaultdict(list)
        for name in names if steps < FEW_UPDATES else ():
            groups[few.get(name)].append(name)
        for tokens, group in groups.items():
            found = f"{steps:,} pretraining updates are fewer than {FEW_UPDATES}, with which a"
            also, more = "", _more_updates(run, steps)
            if tokens:
                also = f", and {tokens}"
                more = raised_budget(run, max(tokens.factor, FEW_UPDATES / steps))
            arms[f"{found} network hardly learns{also}; {more}"] += group
    yield from (f"{', '.join(names)}: {text}" for text, names in arms.items())


def few_tokens(plan: Plan) -> Iterator[str]:
    """Networks trained from scratch on fewer tokens than any of their size has learned from, in
    enough updates."""
    groups: dict[tuple[FewTokens, str], list[str]] = defaultdict(list)
    pretrain = {arm.name: arm.pretrain for arm in plan.arms}
    for name, tokens in _few_tokens(plan).items():
        run = pretrain[name]
        if (pretraining_cost(run).steps or 0) >= FEW_UPDATES:
            groups[tokens, raised_budget(run, tokens.factor)].append(name)
    for (tokens, more), names in groups.items():
        yield f"{', '.join(names)}: {tokens}; {more}"


def _more_updates(run: Pretrain, steps: int) -> str:
    """What gives FEW_UPDATES."""
    budget = raised_budget(run, FEW_UPDATES / steps)
    most = run.batch_size * steps // FEW_UPDATES
    smaller = 2 ** (most.bit_length() - 1) if most else 0
    if run.budget.steps or smaller < SMALLEST_BATCH:
        return budget
    return f"lower pretrain.batch_size from {run.batch_size} to {smaller}, or {budget}"


def _few_tokens(plan: Plan) -> dict[str, FewTokens]:
    """Arm to its budget, of those with too few tokens."""
    found = {arm.name: _of_run(arm.pretrain) for arm in plan.arms}
    return {name: few for name, few in found.items() if few}


def _of_run(run: Pretrain) -> FewTokens | None:
    tokens, size = pretraining_cost(run).tokens, measured_size(run.size)
    is_trained_anew = run.model.facts.kind in NETWORKS and run.init_from is None
    if not (size and tokens and is_trained_anew) or tokens >= LEARNED[size].tokens:
        return None
    return FewTokens(size, tokens, LEARNED[size].tokens / (run.budget.tokens or tokens))


def measured_size(size: Size) -> str | None:
    """The name in LEARNED of the size with as many layers of the same width, if there is one."""
    shape = (size.num_layers, size.hidden_size)
    names = (name for name in LEARNED if shape == (SIZES[name].num_layers, SIZES[name].hidden_size))
    return next(names, None)
