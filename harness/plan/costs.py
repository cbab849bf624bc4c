"""Planned cost of stages: updates, tokens, parameters and FLOPs."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.data.corpora.packing import PAIR_FORMATS
from harness.experiment.arms import Arm
from harness.finetuning.compatibility import reading_of
from harness.finetuning.distillation import Augmentation
from harness.finetuning.protocol import Finetune
from harness.models.checkpoints import files, weight_files
from harness.models.counts.backbones import count_parameters
from harness.models.counts.shapes import has_decoder
from harness.models.flops import Lengths, forward_flops
from harness.pretraining.budget import Budget
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.steps import (
    planned_steps,
    tokens_per_step,
    training_flops_per_step,
    with_vocabulary,
)
from harness.pretraining.training_flops import TRAINING
from harness.tasks.probes import PROBES
from harness.tasks.task import Task

SIFT_PASSES = 2 + TRAINING
"""What `finetune.sift_weight` adds to an update, in forward passes: one with the gradient of its
activations alone, by which the perturbation is found, and one that is trained."""
# Assumptions, used only in the estimate of the time.
MEAN_TASK_TOKENS = 40
"""Tokens per fine-tuning input."""
PROBE_INPUTS = 3_000
"""Inputs per category of a probe."""
PROBE_TOKENS = 12
"""Tokens per input of a probe."""
HELD_OUT_INPUTS = 1_000
"""Sequences of held-out text."""
HELD_OUT_TOKENS = 128
"""Tokens per sequence of held-out text."""
SUSTAINED_FLOPS = 5e10
"""FLOP/s of one CPU thread at `nano` and `tiny`, to an order of magnitude: fine-tuning in
`reports/quickstart`. Older machines and those with other work take up to five times as long."""
SECONDS_PER_UPDATE = 0.006
"""Seconds of an update of pretraining that do not depend on its FLOPs: what `reports/quickstart`
took (58 s for 3,907 updates of 4.2e8 FLOPs) beyond the time at SUSTAINED_FLOPS."""
SMALL = 1e7
"""FLOPs for a token, forward, up to which a GPU is idle between the operations of a network, by
estimate: an update of 16,384 tokens, 5e11 FLOPs, takes 5 ms at 1e14 FLOP/s, about as long as it
takes to start its operations. BERT's size `mini` is below, `small` above. Sixteen runs of
`nano` at a time are 7.7 times as fast as one (benchmarks/README.md)."""
SECONDS_PER_STAGE = 0.3
"""Seconds of a stage that do not depend on its FLOPs."""
SECONDS_OF_TEXT: Mapping[str, float] = {"tokenizer": 3.0, "tokenize": 5.0}
"""Seconds of the stages that read a corpus, which have no FLOPs: those of 2 million tokens of the
micro-world in `reports/quickstart`."""


@dataclass(frozen=True)
class Cost:
    """Cost of pretraining one seed of an arm; null if a budget in seconds leaves a number unknown,
    and for checkpoints."""

    steps: int | None
    """Updates."""
    tokens: int | None
    parameters: int | None
    """Parameters of the network without pretraining heads; of a checkpoint, the weights in its
    files on this machine, heads included."""
    flops: float | None
    """Training FLOPs."""


def pretraining_cost(spec: Pretrain, vocab_size: int | None = None) -> Cost:
    """The planned cost of one pretraining run.

    Args:
        vocab_size: entries that the tokenizer has learned, for parameters and FLOPs; null: the
            declared number, which also determines the updates of a budget in FLOPs.
    """
    if spec.model.checkpoint:
        folder = files.found(spec.model.checkpoint, spec.model.revision)
        return Cost(None, None, weight_files.num_weights(folder) or None, None)
    counted = with_vocabulary(spec, vocab_size) if vocab_size else spec
    parameters = count_parameters(
        spec.model,
        spec.size,
        counted.tokenizer.vocab_size,
        pair_format=spec.packing.format in PAIR_FORMATS,
        representation=spec.representation,
    )
    if spec.budget.seconds:
        return Cost(None, None, parameters, None)
    steps = planned_steps(spec)
    tokens = round(steps * tokens_per_step(spec))
    return Cost(steps, tokens, parameters, steps * training_flops_per_step(counted))


def continued_cost(run: Pretrain, start: Pretrain, vocab_size: int | None = None) -> Cost:
    """The planned cost of continued pretraining.

    Args:
        run: the continued run.
        start: the pretraining of the model it starts from. For a checkpoint, a forward pass
            counts 2 FLOPs per weight and token, and a backward pass twice that (Kaplan et al.
            2020, section 2.1).
        vocab_size: as for `pretraining_cost`.
    """
    if not start.model.checkpoint:
        return pretraining_cost(run, vocab_size)
    folder = files.found(start.model.checkpoint, start.model.revision)
    parameters = weight_files.num_weights(folder) or None
    if run.budget.seconds:
        return Cost(None, None, parameters, None)
    steps = planned_steps(run)
    tokens = round(steps * tokens_per_step(run))
    return Cost(steps, tokens, parameters, TRAINING * _forward_flops(start, tokens))


def expected_flops(cost: Cost, budget: Budget) -> float:
    """Training FLOPs of a run for the estimate of the time; for a budget in seconds, those at the
    assumed rate."""
    return cost.flops or (budget.seconds or 0.0) * SUSTAINED_FLOPS


def is_small(run: Pretrain) -> bool:
    """Whether a network leaves a GPU idle, with those that it starts from and learns from; not if
    it is a checkpoint that is not on this machine yet."""
    flops = _forward_flops(run, HELD_OUT_TOKENS)
    is_unknown = run.model.checkpoint and not flops
    if is_unknown or flops > SMALL * HELD_OUT_TOKENS:
        return False
    return all(is_small(one) for one in (run.init_from, run.teacher) if one)


def held_out_flops(run: Pretrain) -> float:
    """FLOPs of one forward pass over the held-out text, an upper bound."""
    return _forward_flops(run, HELD_OUT_TOKENS) * HELD_OUT_INPUTS


def finetuning_flops(
    arm: Arm, task: Task, settings: Finetune, teacher: Arm | None = None, is_earlier: bool = False
) -> float:
    """FLOPs of one fine-tuning run, for the estimate of the time.

    Args:
        teacher: whose layers are learned first, and whose network then reads every input; null:
            none.
        is_earlier: whether the task comes before the chosen ones, so that no teacher augments it.
    """
    protocol = arm.evaluate.protocol
    distillation = None if is_earlier else arm.evaluate.distillation
    copies = distillation.augment.copies if distillation and distillation.augment else 0
    examples = num_train_examples(arm, task) * (1 + copies)
    one = _forward_flops(arm.pretrain, MEAN_TASK_TOKENS, reading_of(protocol, arm.pretrain))
    passes = TRAINING * (settings.auxiliary.num_passes if settings.auxiliary else 1)
    passes += SIFT_PASSES if settings.sift_weight else 0
    flops = passes * one * examples * settings.epochs
    if teacher and distillation and distillation.layers:
        taught = _forward_flops(teacher.pretrain, MEAN_TASK_TOKENS)
        flops += (TRAINING * one + taught) * examples * distillation.layers.epochs
    return flops


def augmenting_flops(arm: Arm, task: Task, settings: Augmentation) -> float:
    """FLOPs of a teacher that augments the examples of a task: a forward pass for each word, though
    words of several tokens stay, and one for each example and copy."""
    one = _forward_flops(arm.pretrain, MEAN_TASK_TOKENS)
    return one * num_train_examples(arm, task) * (MEAN_TASK_TOKENS + 1 + settings.copies)


def num_train_examples(arm: Arm, task: Task) -> int:
    """Examples of the train set, with the hold-out, that an arm reads; 0 if unknown."""
    return min(task.train_size, arm.evaluate.protocol.max_train_examples or task.train_size)


def probe_flops(arm: Arm, probe: str) -> float:
    """FLOPs of one probe, for the estimate of the time."""
    one = _forward_flops(arm.pretrain, PROBE_TOKENS)
    return one * PROBE_INPUTS * len(PROBES[probe].categories)


def _forward_flops(run: Pretrain, tokens: int, reading: str = "") -> float:
    """FLOPs of a forward pass over one input; for checkpoints 2 per weight and token.

    Args:
        reading: empty for the representation of the run.
    """
    reading = reading or run.representation
    if run.model.checkpoint:
        folder = files.found(run.model.checkpoint, run.model.revision)
        return 2.0 * weight_files.num_weights(folder) * tokens
    target = tokens if has_decoder(run.model, reading) else 0  # reads the input, too
    return forward_flops(
        run.model,
        run.size,
        run.tokenizer.vocab_size,
        Lengths(tokens, target=target),
        representation=reading,
    )
