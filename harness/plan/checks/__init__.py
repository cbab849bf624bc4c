"""Warnings before anything is computed: what is valid, but unlikely to give an answer.

Errors are found when an experiment is read (`harness.experiment`).
"""

from collections.abc import Callable, Iterator, Mapping

from harness.plan.checks.adafactor import capped_learning_rate
from harness.plan.checks.compute import unused_strategy
from harness.plan.checks.data import missing_data
from harness.plan.checks.learned_budgets import few_tokens, few_updates
from harness.plan.checks.lengths import dropped_demonstrations, long_texts
from harness.plan.checks.pretraining import (
    few_neighbours,
    long_warmup,
    shared_learning_rates,
    unfilled_vocabulary,
    unfit_learning_rate,
)
from harness.plan.checks.repeated_text import repeated_text
from harness.plan.checks.search import unsuited_sampler
from harness.plan.checks.seeds import few_ensembles, single_runs
from harness.plan.checks.settings import small_checkpoints, unlike_defaults
from harness.plan.checks.text import foreign_tasks, trained_held_out, unequal_text
from harness.plan.checks.tokenizers import unfit_tokenizer
from harness.plan.checks.written_answers import unwritable_answers
from harness.plan.plan import Plan


def unsupported_tasks(plan: Plan) -> Iterator[str]:
    """Tasks that an arm cannot do, with the reason."""
    yield from plan.unsupported_lines


CHECKS: Mapping[str, Callable[[Plan], Iterator[str]]] = {
    "few_updates": few_updates,
    "few_tokens": few_tokens,
    "long_warmup": long_warmup,
    "few_neighbours": few_neighbours,
    "unfit_learning_rate": unfit_learning_rate,
    "shared_learning_rates": shared_learning_rates,
    "capped_learning_rate": capped_learning_rate,
    "unfilled_vocabulary": unfilled_vocabulary,
    "repeated_text": repeated_text,
    "unequal_text": unequal_text,
    "trained_held_out": trained_held_out,
    "foreign_tasks": foreign_tasks,
    "unfit_tokenizer": unfit_tokenizer,
    "unwritable_answers": unwritable_answers,
    "long_texts": long_texts,
    "dropped_demonstrations": dropped_demonstrations,
    "unsupported_tasks": unsupported_tasks,
    "missing_data": missing_data,
    "unsuited_sampler": unsuited_sampler,
    "unlike_defaults": unlike_defaults,
    "small_checkpoints": small_checkpoints,
    "single_runs": single_runs,
    "few_ensembles": few_ensembles,
    "unused_strategy": unused_strategy,
}
"""Name to check, in the order of the output. A check yields warnings of one line: what was found,
and what to change."""


def plan_warnings(plan: Plan) -> list[str]:
    """The warnings of all checks. Reads local data, never the network."""
    return [line for check in CHECKS.values() for line in check(plan)]
