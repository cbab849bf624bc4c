"""Pretraining whose warmup, vocabulary or learning rate does not fit."""

import math
from collections.abc import Iterator

from harness.data.corpora.sources import MicroworldCorpus, sources_of
from harness.experiment.recipe_defaults import earlier_runs, is_small, named_role
from harness.finetuning.search.pretrain_search import is_searched
from harness.plan.costs import pretraining_cost
from harness.plan.plan import Plan
from harness.pretraining.objectives.sample_rows import SENTENCE
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes import RECIPES, small_sizes
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.schedule import Schedule

FULL_VOCABULARY = 0.75
"""Share of the declared entries that a corpus should fill. On the micro-world, whose default is
1,200, WordPiece learns 81 % and Unigram 76 to 84 % of them."""
UNLIKE_ADAMW = ("lamb", "adafactor", "sgd", "adagrad")
"""Optimisers whose updates have another size than AdamW's at the same learning rate."""
SENTENCES_IN_ROW = 3
"""Sentences that a row should hold where neighbours in a row are learned from."""
LONG_WARMUP = 0.5
"""Share of the updates that a warmup should not exceed."""


def raised_budget(run: Pretrain, factor: float) -> str:
    """`raise pretrain.budget.tokens to 1,000,000 or more`: the budget of a run times `factor`."""
    unit, value = budget_amount(run)
    needed = math.ceil(round(value * factor, 6))  # a whole number stays one
    amount = f"{needed + 0.05 * needed:.2g}" if unit == "flops" else f"{needed:,}"  # rounded up
    return f"raise pretrain.budget.{unit} to {amount} or more"


def budget_amount(run: Pretrain) -> tuple[str, float]:
    """Unit and amount of a budget."""
    return next(iter(run.budget.model_dump(exclude_none=True).items()))


def unfilled_vocabulary(plan: Plan) -> Iterator[str]:
    """Vocabularies that a corpus does not fill, once their tokenizer is trained."""
    seeds = plan.experiment.seeds
    corpus = f"the corpus of world {seeds.pretrain[0]}" if seeds.in_worlds else "the corpus"
    groups: dict[tuple[int, int, str], list[str]] = {}
    for arm in plan.arms:
        declared, learned = arm.pretrain.tokenizer, plan.vocab_sizes.get(arm.name)
        if learned and learned < FULL_VOCABULARY * declared.vocab_size:
            kind = (declared.vocab_size, learned, declared.algorithm)
            groups.setdefault(kind, []).append(arm.name)
    for (size, learned, algorithm), arms in groups.items():
        yield (
            f"{', '.join(arms)}: {corpus} fills {learned:,} of the {size:,} declared entries of "
            f"{algorithm}; parameters and FLOPs are counted with {learned:,}; set "
            f"pretrain.tokenizer.vocab_size to {learned}, or take more text"
        )


def long_warmup(plan: Plan) -> Iterator[str]:
    """Runs whose warmup takes more than half of their updates."""
    for steps, names, run in grouped_runs(plan):
        warmup = _warmup(run.schedule, steps)
        if warmup > LONG_WARMUP * steps:
            advice = "warmup_fraction to 0.1 or lower"
            if run.schedule.warmup_steps is not None:
                advice = f"warmup_steps to {steps // 10:,} or lower"
            yield (
                f"{', '.join(names)}: the warmup takes {warmup:,} of {steps:,} pretraining "
                "updates, so that the learning rate is below its peak most of the time; set "
                f"pretrain.schedule.{advice}, or raise the budget"
            )


def few_neighbours(plan: Plan) -> Iterator[str]:
    """Rows in which few sentences have a neighbour, though neighbours are to be predicted; those of
    the micro-world are short."""
    needed = SENTENCES_IN_ROW * SENTENCE
    for arm in plan.arms:
        run = arm.pretrain
        longest = max(phase.sequence_length for phase in run.phases)
        is_real = not all(isinstance(one, MicroworldCorpus) for one in sources_of(run.corpus))
        predicts = (
            run.objectives[-1].output.kind == "neighbour_sentences" and not run.budget.is_zero
        )
        if predicts and is_real and longest < needed:
            yield (
                f"{arm.name}: rows of {longest} tokens hold few sentences, which are neighbours "
                f"within a row only; set the sequence_length of pretrain.phases to {needed} or more"
            )


def _warmup(schedule: Schedule, steps: int) -> int:
    """Updates of warmup; none for `inverse_sqrt`."""
    if schedule.decay == "inverse_sqrt":
        return 0
    if schedule.warmup_steps is None:
        return int(schedule.warmup_fraction * steps)
    return schedule.warmup_steps


def unfit_learning_rate(plan: Plan) -> Iterator[str]:
    """Optimisers with the learning rate that the recipe or a small size has for another one, unless
    arms compare several or it is searched."""
    if "pretrain.optimizer.learning_rate" in plan.declared:
        return
    searches = plan.search_of_arms
    for name, run in _runs(plan):
        space = searches[name].space if name in searches and is_searched(run) else {}
        if "optimizer.learning_rate" in space:
            continue
        recipe, source = RECIPES[run.recipe].optimizer, f"the recipe {run.recipe}"
        if is_small(run):
            settings = small_sizes.optimizer_settings(run.size, run.model.family)
            recipe, source = Optimizer(**settings), "small networks"
        own = run.optimizer
        if own.learning_rate == recipe.learning_rate and not _are_alike(own.kind, recipe.kind):
            yield (
                f"{name}: the learning rate {own.learning_rate:g} of {source} is that of "
                f"{recipe.kind}, and means something else to {own.kind}; compare several by an "
                "axis over pretrain.optimizer.learning_rate"
            )


def shared_learning_rates(plan: Plan) -> Iterator[str]:
    """One space of learning rates for arms whose optimisers make updates of different sizes."""
    name = "optimizer.learning_rate"
    searched = [
        arm for arm in plan.arms if is_searched(arm.pretrain) and arm.name in plan.search_of_arms
    ]
    spaces: dict[str, dict[str, str]] = {}
    for arm in searched:
        if found := plan.search_of_arms[arm.name].space.get(name):
            kinds = spaces.setdefault(str(found), {})
            kinds.setdefault(arm.pretrain.optimizer.kind, arm.name)
    for kinds in spaces.values():
        (first, _), *others = kinds.items()
        if unlike := [kind for kind, _ in others if not _are_alike(first, kind)]:
            yield (
                f"{', '.join(kinds.values())}: one space of {name} is searched for "
                f"{' and '.join([first, *unlike])}, whose rates do not compare; give each kind its "
                "own in sweep.pretrain.optimizers"
            )


def _are_alike(kind: str, other: str) -> bool:
    """Whether one learning rate suits both optimisers."""
    return kind == other or not {kind, other} & {*UNLIKE_ADAMW}


def grouped_runs(plan: Plan) -> Iterator[tuple[int, list[str], Pretrain]]:
    """(updates, names, first run) of the pretraining runs that are equal in updates, batch size and
    warmup, without those of no or unknown updates."""
    groups: dict[tuple[int, int, Schedule], tuple[list[str], Pretrain]] = {}
    for name, run in _runs(plan):
        if steps := pretraining_cost(run).steps:
            names, _ = groups.setdefault((steps, run.batch_size, run.schedule), ([], run))
            names.append(name)
    for (updates, _, _), (names, run) in groups.items():
        yield updates, names, run


def _runs(plan: Plan) -> Iterator[tuple[str, Pretrain]]:
    """Name to run of each arm, and of the runs that it builds on."""
    for arm in plan.arms:
        yield arm.name, arm.pretrain
        for path, other in earlier_runs(arm.pretrain):
            yield f"{named_role(path)} of {arm.name}", other
