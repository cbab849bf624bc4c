"""Costs with the vocabularies that tokenizers have learned, and the tokens that they have counted.

A small corpus has fewer entries than are declared, so that parameters and FLOPs are fewer, too.
Stages, keys and numbers of updates follow from the declaration and stay as they are.
"""

from collections.abc import Mapping
from dataclasses import replace

from harness.plan.costs import continued_cost, pretraining_cost
from harness.plan.plan import ContinuedRun, Plan
from harness.pretraining.recipes.pretrain import Pretrain

VOCAB_SIZE = "vocab_size"
"""Metric of a tokenizer stage: its entries, special tokens included."""
TRAIN_TOKENS = "train_tokens"
"""Metric of a tokenize stage: tokens of the text without held-out documents."""
UNKNOWN_SHARE = "train_unk_share"
"""Metric of a tokenize stage: share of these tokens that are unknown to the tokenizer."""


def with_learned_vocabularies(plan: Plan, metrics: Mapping[str, Mapping[str, float]]) -> Plan:
    """A plan whose costs are counted with the learned vocabularies where these are known; with a
    world for each seed, that of the first.

    Args:
        metrics: key of a finished stage to its metrics.
    """
    if shares := {key: of[UNKNOWN_SHARE] for key, of in metrics.items() if UNKNOWN_SHARE in of}:
        plan = replace(plan, unknown_shares=_unknown_shares(plan, shares))
    learned = {key: int(of[VOCAB_SIZE]) for key, of in metrics.items() if VOCAB_SIZE in of}
    if not learned:
        return plan
    parents = {arm: plan.stages[key].parents for arm, key in plan.first_pretrain_keys.items()}
    sizes = {
        arm: learned[roles["tokenizer"]]
        for arm, roles in parents.items()
        if roles["tokenizer"] in learned
    }
    counted = {key: int(of[TRAIN_TOKENS]) for key, of in metrics.items() if TRAIN_TOKENS in of}
    texts = {arm: roles.get("tokens", "") for arm, roles in parents.items()}
    arms = {arm.name: arm.pretrain for arm in plan.arms}

    def recounted(run: ContinuedRun) -> ContinuedRun:
        """A continued run, whose stage holds its settings."""
        size = sizes.get(run.arm)
        settings = Pretrain.model_validate(plan.stages[run.key].spec["pretrain"])
        cost = continued_cost(settings, arms[run.arm], size) if size else run.cost
        return replace(run, cost=cost)

    return replace(
        plan,
        costs={arm: pretraining_cost(run, sizes.get(arm)) for arm, run in arms.items()},
        continued_runs=tuple(map(recounted, plan.continued_runs)),
        vocab_sizes=sizes,
        corpus_tokens={arm: counted[key] for arm, key in texts.items() if key in counted},
    )


def _unknown_shares(plan: Plan, of_texts: Mapping[str, float]) -> dict[str, float]:
    """`Plan.unknown_shares`, from those of tokenize stages by their keys."""
    trained = [(arm, key) for (arm, _), key in plan.pretrain_keys.items()]
    trained += [(run.arm, run.key) for run in plan.continued_runs]
    shares: dict[str, float] = {}
    for arm, key in trained:
        tokens = plan.stages[key].parents.get("tokens", "")
        if tokens in of_texts:
            shares[arm] = max(of_texts[tokens], shares.get(arm, 0.0))
    return shares
