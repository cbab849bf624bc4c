"""Whether the Lightning module of a plug-in can be made and has a loss, tried on a narrow network
before a run."""

import numpy as np
import torch

from harness.core.errors import MemberError
from harness.models import Size
from harness.pretraining.learners.learner import decoder_start
from harness.pretraining.module import MODULES, PretrainingModule
from harness.pretraining.objectives.loader import Step, to_step
from harness.pretraining.objectives.sample_rows import padded_rows
from harness.pretraining.objectives.targets import assemble
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import make_module

LENGTH = 32
"""Tokens of the longest row."""
ROWS = 32
"""Rows of a micro-batch."""
HEAD_DIM = 8


def check_module(spec: Pretrain) -> None:
    """Makes the module of a run with all layers at HEAD_DIM units a head, and computes the loss of
    a batch of each objective. Runs that need the network of another run are not tried.

    Raises:
        MemberError: the loss is not a scalar that depends on the weights.
        Exception: whatever the module raises.
    """
    is_network = spec.model.facts.kind not in ("baseline", "checkpoint")
    if not is_network or any(one.distillation for one in spec.objectives):
        return
    rng = np.random.default_rng(0)
    rows, vocabulary = padded_rows(LENGTH, rng)
    model = spec.model.model_copy(update={"vectors": None})
    narrow = spec.model_copy(update={"size": _narrow(spec.size), "model": model})
    module = make_module(narrow, vocabulary, 0, {}, 1)
    start = decoder_start(module.learner.backbone, vocabulary)
    for index, objective in enumerate(spec.objectives):
        result = apply_transform(objective.transform, rows, rng, vocabulary)
        labels = None if objective.sentence_pair == "none" else np.zeros(len(rows.tokens), int)
        batch = assemble(rows, result, objective, labels, vocabulary, start)
        _check_loss(str(spec.module), module, to_step(batch, ROWS * LENGTH, index))


def _check_loss(name: str, module: PretrainingModule, step: Step) -> None:
    with torch.random.fork_rng(devices=[]):
        loss = module.loss(step.parts[0], step)
    given = f"{list(loss.shape)}" if isinstance(loss, torch.Tensor) else type(loss).__name__
    if given != "[]" or not loss.requires_grad:
        given = "one without gradient" if given == "[]" else given
        raise MemberError(
            f"the module {name!r} must have a loss that is a scalar tensor [] of the weights, but "
            f"it is {given}",
            MODULES[name].loss,
        )


def _narrow(size: Size) -> Size:
    width = min(size.hidden_size, HEAD_DIM * size.num_heads)
    return size.model_copy(
        update={"hidden_size": width, "intermediate_size": 4 * width, "head_dim": None}
    )
