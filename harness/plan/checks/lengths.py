"""Texts that are longer than the inputs of fine-tuning or the sequences of pretraining, and
demonstrations that do not fit beside a question."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from harness.models import LEARNED_POSITIONS
from harness.plan.costs import num_train_examples
from harness.plan.plan import Plan
from harness.tasks.task import COMPARED, Task
from harness.tasks.text_sample import sample_texts

SAMPLE = 100
"""Train examples per task whose words are counted."""
FEW_LONG = 0.01
"""Share of texts up to which there is no warning."""
IN_WINDOWS = ("extraction", "coreference")
"""Kinds of tasks whose long texts are read in parts, not truncated."""


def long_texts(plan: Plan) -> Iterator[str]:
    """Tasks whose texts have more words than `protocol.max_sequence_length`, or than any sequence
    of pretraining, for arms with learned position embeddings: the later ones are still random."""
    tasks = plan.experiment.evaluate.chosen
    lengths = {name: _least_tokens(task) for name, task in tasks.items()}
    read = {arm.name: arm.evaluate.protocol.max_sequence_length for arm in plan.arms}
    for limit, arms in _by_limit(read).items():
        if found := _long_tasks(plan, arms, lengths, limit):
            yield (
                f"{_named(plan, arms)}: texts longer than evaluate.protocol.max_sequence_length "
                f"({limit}) are truncated: {found}; raise it, or accept the loss"
            )
    trained = {
        arm.name: max(phase.sequence_length for phase in arm.pretrain.phases)
        for arm in plan.arms
        if arm.pretrain.model.family in LEARNED_POSITIONS and not arm.pretrain.budget.is_zero
    }
    for limit, arms in _by_limit(trained).items():
        if found := _long_tasks(plan, arms, lengths, limit):
            yield (
                f"{_named(plan, arms)}: pretraining reads at most {limit} tokens at a time, so "
                f"that later positions are untrained, but tasks have longer texts: "
                f"{found}; raise sequence_length in pretrain.phases"
            )


def dropped_demonstrations(plan: Plan) -> Iterator[str]:
    """Prompted tasks of which fewer than `protocol.num_fewshot` demonstrations fit into an input
    with the question, on average, even if each word were one token, or that have fewer train
    examples."""
    for arm in plan.arms:
        protocol = arm.evaluate.protocol
        number, limit = protocol.num_fewshot, protocol.max_sequence_length
        reads_none = arm.pretrain.model.facts.kind == "baseline" or arm.evaluate.adaptation.trains
        if not number or reads_none:
            continue
        tasks = {
            name: task
            for name, task in arm.evaluate.chosen.items()
            if (arm.name, name) not in plan.unsupported
        }
        fitting = {
            name: max(0, int(limit / max(1, fmean(words))) - 1)
            for name, task in tasks.items()
            if (words := _num_words(task))
        }
        if shown := [f"{most} of {name}" for name, most in fitting.items() if most < number]:
            yield (
                f"{arm.name}: of the {number} demonstrations of evaluate.protocol.num_fewshot, "
                f"inputs of max_sequence_length ({limit}) have room for at most about "
                f"{', '.join(shown)}, by the words of the first {SAMPLE} train examples, and the "
                "longest are dropped; raise it, or lower num_fewshot"
            )
        examples = {name: num_train_examples(arm, task) for name, task in tasks.items()}
        if few := [f"{most} of {name}" for name, most in examples.items() if 0 < most < number]:
            yield (
                f"{arm.name}: evaluate.protocol.num_fewshot is {number}, but the train examples "
                f"are at most {', '.join(few)}, and all of them are read; lower it"
            )


def _num_words(task: Task) -> list[int]:
    """Words of the texts of each of a sample of train examples."""
    return [sum(len(text.split()) for text in texts) for texts in sample_texts(task, SAMPLE)]


def _by_limit(limits: dict[str, int]) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = defaultdict(list)
    for arm, limit in limits.items():
        groups[limit].append(arm)
    return groups


def _named(plan: Plan, arms: Sequence[str]) -> str:
    return "all arms" if len(arms) == len(plan.arms) else ", ".join(arms)


def _long_tasks(
    plan: Plan, arms: Sequence[str], lengths: Mapping[str, Sequence[int]], limit: int
) -> str:
    """`at least 12 % of micro-qnli, 3 % of micro-rte, by the first 100 train examples`, of the
    tasks that one of the arms does; empty if there are none."""
    of_arms = set(arms)
    done = {run.task for run in plan.finetune_runs if run.arm in of_arms}
    shares = {
        name: sum(length > limit for length in found) / len(found)
        for name, found in lengths.items()
        if found and name in done
    }
    named = [f"{100 * s:.0f} % of {name}" for name, s in shares.items() if s > FEW_LONG]
    return f"at least {', '.join(named)}, by the first {SAMPLE} train examples" if named else ""


def _least_tokens(task: Task) -> list[int]:
    """Tokens of a sample of the train texts, counted by words: a lower bound, because a word has at
    least one token."""
    if task.kind in IN_WINDOWS:
        return []
    return [_length(task, texts) for texts in sample_texts(task, SAMPLE)]


def _length(task: Task, texts: Sequence[str]) -> int:
    """Least tokens of an input. The texts of a pair share it; where embeddings are compared, each
    is an input of its own. The words of a tagging example are its texts."""
    words = [len(text.split()) for text in texts]
    special = 2 if task.kind == "tagging" else 1 + len(texts)
    return max(words) + 2 if task.kind in COMPARED else sum(words) + special
