"""Whether the Lightning module of a plug-in can be made and has a loss, tried on a narrow network
before a run."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor

from harness.core.errors import MemberError
from harness.models import FAMILIES, MODELS, SIZES, Size
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.learners.learner import decoder_start
from harness.pretraining.module import MODULES, PretrainingModule
from harness.pretraining.objectives.cooccurrence import Cells
from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.loader import Step, to_step
from harness.pretraining.objectives.negatives import NegativeSampling
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.outputs import Cooccurrence
from harness.pretraining.objectives.sample_rows import padded_rows
from harness.pretraining.objectives.targets import Batch, assemble
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import make_module

LENGTH = 32
"""Tokens of the longest row."""
ROWS = 32
"""Rows of a micro-batch."""
HEAD_DIM = 8


def check_module(spec: Pretrain) -> None:
    """Makes the module of a run with all layers at HEAD_DIM units a head, and computes the loss of
    a batch of each objective, but for baselines, which are not trained. In place of a checkpoint
    there is a new network read in the same way.

    Raises:
        MemberError: the loss is not a scalar that depends on the weights, or depends on weights
            that are not the module's.
        Exception: whatever the module raises.
    """
    if _is_uneven(spec):
        return
    rng = np.random.default_rng(0)
    rows, vocabulary = padded_rows(LENGTH, rng)
    with TemporaryDirectory() as folder:
        folders = _teacher(spec, vocabulary, Path(folder))
        module = make_module(_narrow(spec), vocabulary, 0, folders, 1)
    if spec.model.facts.kind == "baseline":
        return
    start = decoder_start(module.learner.backbone, vocabulary)
    for index, objective in enumerate(spec.objectives):
        batch = _batch(rows, objective, rng, vocabulary, start)
        _check_loss(str(spec.module), module, to_step(batch, ROWS * LENGTH, index))


def _batch(
    rows: Rows, objective: Objective, rng: np.random.Generator, vocabulary: Vocabulary, start: int
) -> Batch:
    """The batch of an objective from rows [B, T]; of counts, one for each token with itself."""
    if isinstance(objective.output, Cooccurrence):
        tokens, all_of_them = rows.tokens.ravel(), np.arange(rows.tokens.size)
        cells = Cells(tokens, tokens, np.ones(len(tokens)))
        return cells.batch(all_of_them.reshape(rows.tokens.shape))
    result = apply_transform(objective.transform, rows, rng, vocabulary)
    labels = None if objective.sentence_pair == "none" else np.zeros(len(rows.tokens), int)
    batch = assemble(rows, result, objective, labels, vocabulary, start)
    return batch | NegativeSampling(rows.tokens.ravel(), vocabulary).sample(batch, objective, rng)


def _is_uneven(spec: Pretrain) -> bool:
    """Whether student and teacher differ in heads, so that narrow ones would differ in width."""
    return spec.teacher is not None and spec.teacher.size.num_heads != spec.size.num_heads


def _teacher(spec: Pretrain, vocabulary: Vocabulary, folder: Path) -> Mapping[str, Path]:
    """The folder of a new, narrow teacher, if the run learns from one."""
    if spec.teacher is None:
        return {}
    make_learner(_narrow(spec.teacher), vocabulary, 0, {}).save(folder / "model")
    return {"teacher": folder}


def _check_loss(name: str, module: PretrainingModule, step: Step) -> None:
    with torch.random.fork_rng(devices=[]):
        loss = module.loss(step.parts[0], step)
    given = f"{list(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
    if given != "[]" or not loss.requires_grad:
        given = "one without gradient" if given == "[]" else given
        raise MemberError(
            f"the module {name!r} must have a loss that is a scalar tensor [] of the weights, but "
            f"it is {given}",
            MODULES[name].loss,
        )
    own = {id(weight) for weight in module.parameters()}
    if foreign := [weight for weight in _weights(loss) if id(weight) not in own]:
        shapes = ", ".join(str(list(weight.shape)) for weight in foreign)
        raise MemberError(
            f"the module {name!r} must own all weights of its loss, but it does not own "
            f"{len(foreign)}, of shape {shapes}, which would never be trained; make them in its "
            "__init__, such as self.scale = nn.Parameter(...)",
            MODULES[name].loss,
        )


def _weights(loss: Tensor) -> Iterator[Tensor]:
    """The leaves with a gradient of the graph of a loss, each once."""
    waiting, seen = [loss.grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):  # the node that accumulates the gradient of a leaf
            yield node.variable
        waiting += [before for before, _ in node.next_functions]


def _narrow(spec: Pretrain) -> Pretrain:
    """A run with a narrow network; for a checkpoint, of the first family read natively as it is."""
    model, size = spec.model.model_copy(update={"vectors": None}), spec.size
    if model.facts.kind == "checkpoint":
        known = FAMILIES.items()
        alike = (name for name, one in known if one.representations[0] == spec.representation)
        model, size = MODELS[next(alike)], SIZES["nano"]
    return spec.model_copy(update={"size": _narrow_size(size), "model": model})


def _narrow_size(size: Size) -> Size:
    width = min(size.hidden_size, HEAD_DIM * size.num_heads)
    return size.model_copy(
        update={"hidden_size": width, "intermediate_size": 4 * width, "head_dim": None}
    )
