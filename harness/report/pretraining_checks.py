"""Pretraining that was too short, that failed, or that learned hardly anything."""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from harness.analysis.frames.pretrain_trials import pretrain_trials_frame
from harness.analysis.frames.runs import pretrain_runs_frame
from harness.analysis.results import Results
from harness.data.corpora.sources import MixedCorpus
from harness.data.corpora.token_counts import token_counts
from harness.execution.job import Workspace
from harness.plan.checks.adafactor import RATE, capped_learning_rate
from harness.plan.checks.learned_budgets import few_updates
from harness.plan.checks.pretraining import long_warmup, unfilled_vocabulary
from harness.plan.checks.repeated_text import repeated_text
from harness.plan.checks.tokenizers import unfit_tokenizer

HARDLY_BELOW = 0.95
"""Held-out loss as a share of the loss by token frequencies from which on a run has hardly learned
anything."""

FAR_FROM_WEIGHTS = 0.05
"""Difference between the share of a source and the declared one from which on it is named."""


def short_pretraining(results: Results) -> list[str]:
    """What the plan has warned of: few updates, a long warmup, learning rates that Adafactor does
    not reach, an unfilled vocabulary, repeated text, a tokenizer that does not fit the text."""
    of_text = (unfilled_vocabulary, repeated_text, unfit_tokenizer)
    checks = (few_updates, long_warmup, partial(capped_learning_rate, chosen=_rates(results)))
    return [f"{line}." for check in (*checks, *of_text) for line in check(results.plan)]


def _rates(results: Results) -> dict[str, float]:
    """Arm to the learning rate that its search chose."""
    trials = results.get(pretrain_trials_frame)
    if RATE not in trials:
        return {}
    found = trials[trials["chosen"].astype(bool)].set_index("arm")[RATE].dropna()
    return {str(arm): float(rate) for arm, rate in found.items()}


def failed_seeds(results: Results) -> Iterator[str]:
    """A sentence on the pretraining runs that failed, such as those that diverged, for each reason;
    reasons are known on the machines that share the store."""
    stages = results.plan.stages.items()
    lost = [one for key, one in stages if one.kind == "pretrain" and key not in results.finished]
    failed: dict[str, list[str]] = {}
    for stage in lost:
        reason = Workspace(results.store.root).error(stage.key)
        failed.setdefault(reason, []).append(stage.label)
    failed.pop("", None)  # these have not failed
    for reason, labels in failed.items():
        yield (
            f"Pretraining failed for {'; '.join(labels)} ({reason}). Scores, differences and "
            "verdicts are of the seeds that finished; those that fail are no random sample of an "
            "arm's seeds."
        )


def losses_beside_frequencies(results: Results) -> dict[str, tuple[float, float]]:
    """Arm to its held-out loss, and to that of predicting every token by its frequency in the
    training text; without arms of which one is unknown."""
    losses = results.get(pretrain_runs_frame).groupby("arm", sort=False)["loss"].mean().dropna()
    arms = (arm for arm in results.plan.arms if not arm.pretrain.budget.is_zero)
    return {
        arm.name: (float(losses[arm.name]), by_frequency)
        for arm in arms
        if arm.name in losses.index and (by_frequency := frequency_loss(results, arm.name))
    }


def unlearned(losses: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """A sentence on the arms whose held-out loss is hardly below that of the frequencies alone.

    Args:
        losses: result of `losses_beside_frequencies`.
    """
    named = [
        f"{arm} {loss:.2f} against {by_frequency:.2f}"
        for arm, (loss, by_frequency) in losses.items()
        if loss > HARDLY_BELOW * by_frequency
    ]
    if named:
        yield (
            "Pretraining learned hardly more than the frequencies of tokens, by the held-out loss "
            f"in nats against that of the frequencies alone: {', '.join(named)}."
        )


def frequency_loss(results: Results, arm: str) -> float | None:
    """Mean loss on the held-out text of an arm, in nats per token, of a model that knows the
    frequencies of tokens alone, with one added to each count; null for checkpoints and if the
    tokens have been deleted."""
    tokens = _tokens_of(results, arm)
    if tokens is None or (counts := token_counts(results.files(tokens))) is None:
        return None
    train, held_out = counts
    known = 1 + train
    return float(held_out @ -np.log(known / known.sum()) / held_out.sum())


def _tokens_of(results: Results, arm: str) -> str | None:
    """The key of the finished stage with the tokens of an arm's text; null if there is none."""
    keys = (key for (name, _), key in results.plan.pretrain_keys.items() if name == arm)
    key = next(keys, None)
    tokens = results.plan.stages[key].parents.get("tokens") if key else None
    return tokens if tokens in results.finished else None


def unmet_weights(results: Results) -> Iterator[str]:
    """A sentence on each mixture whose text has other shares than its weights declare, as where one
    document is longer than the share of its source."""
    unmet: dict[str, list[str]] = {}
    for arm in results.plan.arms:
        corpus, tokens = arm.pretrain.corpus, _tokens_of(results, arm.name)
        if not isinstance(corpus, MixedCorpus) or not corpus.weights or tokens is None:
            continue
        metrics = results.finished[tokens].metrics
        read = {name: metrics.get(f"source_{name}_bytes", 0.0) for name in corpus.weights}
        shares = [
            (name, read[name] / (sum(read.values()) or 1), weight / sum(corpus.weights.values()))
            for name, weight in corpus.weights.items()
        ]
        if any(abs(share - declared) > FAR_FROM_WEIGHTS for _, share, declared in shares):
            named = ", ".join(
                f"{name} {100 * share:.1f} % instead of {100 * declared:.1f} %"
                for name, share, declared in shares
            )
            unmet.setdefault(named, []).append(arm.name)
    for named, arms in unmet.items():
        yield (
            f"{', '.join(arms)}: the training text has other shares than the weights of its "
            f"mixture: {named} of the bytes. Documents are read whole; divide long ones, or set a "
            "larger num_bytes."
        )
