"""What the stages take, as far as it can be known before anything is spent."""

from dataclasses import dataclass

from harness.data.corpora.packing import PAIR_FORMATS
from harness.experiment.arms import Arm
from harness.finetuning import Finetune
from harness.models.checkpoints import files, weights
from harness.models.counts.backbones import count_parameters
from harness.models.flops import forward_flops
from harness.pretraining.budget import planned_steps, tokens_per_step, training_flops_per_step
from harness.pretraining.objectives.expected_lengths import Lengths
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.training_flops import TRAINING
from harness.tasks.probes import PROBES
from harness.tasks.task import Task

MEAN_TASK_TOKENS = 40
"""Tokens of a fine-tuning input, assumed for the time estimate only."""

PROBE_INPUTS = 3_000
"""Inputs of each category of a probe, assumed for the time estimate only."""
PROBE_TOKENS = 12
"""Their length, assumed likewise."""

HELD_OUT_INPUTS = 1_000
"""Sequences of held-out text, of 128 tokens, assumed likewise."""

SUSTAINED_FLOPS = 5e10
"""FLOP/s of one CPU thread at `nano` and `tiny`, assumed for the time estimate only."""


@dataclass(frozen=True)
class Cost:
    """What pretraining one seed of an arm takes; null where a budget in seconds leaves it open, and
    all of a checkpoint."""

    steps: int | None
    tokens: int | None
    parameters: int | None
    flops: float | None


def pretraining_cost(spec: Pretrain) -> Cost:
    """Updates, tokens, parameters of the network and FLOPs of one pretraining run of `spec`."""
    if spec.model.checkpoint:
        return Cost(None, None, None, None)
    parameters = count_parameters(
        spec.model,
        spec.size,
        spec.tokenizer.vocab_size,
        pair_format=spec.packing.format in PAIR_FORMATS,
        representation=spec.representation,
    )
    if spec.budget.seconds:
        return Cost(None, None, parameters, None)
    steps = planned_steps(spec)
    tokens = round(steps * tokens_per_step(spec))
    return Cost(steps, tokens, parameters, steps * training_flops_per_step(spec))


def continued_cost(run: Pretrain, start: Pretrain) -> Cost:
    """The same of `run`, which goes on from a model that `start` made; of a checkpoint 2 FLOPs for
    each of its weights and each token forward, and twice that backward."""
    if not start.model.checkpoint:
        return pretraining_cost(run)
    folder = files.found(start.model.checkpoint, start.model.revision)
    parameters = weights.num_weights(folder) or None
    if run.budget.seconds:
        return Cost(None, None, parameters, None)
    steps = planned_steps(run)
    tokens = round(steps * tokens_per_step(run))
    return Cost(steps, tokens, parameters, TRAINING * _reading_flops(start, tokens))


def held_out_flops(run: Pretrain) -> float:
    """FLOPs of reading the held-out text once, at most."""
    return _reading_flops(run, 128) * HELD_OUT_INPUTS


def expected_flops(spec: Pretrain) -> float:
    """FLOPs of a run, for the time estimate."""
    return pretraining_cost(spec).flops or (spec.budget.seconds or 0.0) * SUSTAINED_FLOPS


def finetuning_flops(arm: Arm, task: Task, settings: Finetune) -> float:
    protocol = arm.evaluate.protocol
    examples = min(task.train_size, protocol.max_train or task.train_size)
    one = _reading_flops(arm.pretrain, MEAN_TASK_TOKENS)
    return TRAINING * one * examples * settings.epochs


def probe_flops(arm: Arm, probe: str) -> float:
    one = _reading_flops(arm.pretrain, PROBE_TOKENS)
    return one * PROBE_INPUTS * len(PROBES[probe].categories)


def _reading_flops(run: Pretrain, tokens: int) -> float:
    """FLOPs of one input; of a checkpoint, 2 for each of its weights and each token."""
    if run.model.checkpoint:
        folder = files.found(run.model.checkpoint, run.model.revision)
        return 2.0 * weights.num_weights(folder) * tokens
    return forward_flops(
        run.model,
        run.size,
        run.tokenizer.vocab_size,
        Lengths(tokens, target=tokens),
        representation=run.representation,
    )
