"""Fine-tuning runs: one loop, for a single task and for several on one network."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch
from pytorch_lightning.loggers import Logger
from torch.utils.data import DataLoader

from harness.core.compute import DEFAULT_COMPUTE, Compute
from harness.finetuning.adaptation import ADAPTATIONS, Adaptation
from harness.finetuning.compatibility import auxiliary_problem
from harness.finetuning.costs import Costs, measure
from harness.finetuning.evaluation_batches import MAX_ITEMS, evaluation_batches
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded
from harness.finetuning.methods import adapt
from harness.finetuning.methods.layerwise import reinitialise
from harness.finetuning.methods.parts import freeze_unused, train_used
from harness.finetuning.methods.rank_budget import RankBudget
from harness.finetuning.module import EpochCallback, FinetuningModule, OnEpoch, Runs
from harness.finetuning.multitask import (
    Loss,
    MultitaskBatches,
    MultitaskModel,
    TaskData,
    multitask_divergences,
    multitask_loss,
)
from harness.finetuning.projection_updates import Adalora
from harness.finetuning.protocol import Finetune
from harness.finetuning.settings_compatibility import (
    fixed_problem,
    noise_problem,
    settings_problem,
)
from harness.finetuning.soft_targets import distilled_loss
from harness.finetuning.task_chain import Multitask
from harness.finetuning.task_model import TaskModel
from harness.finetuning.teacher_layers import layers_of_teacher
from harness.finetuning.used_embeddings import use_rows, with_all_rows
from harness.models.backbone import Backbone
from harness.models.build import load
from harness.models.embedding_noise import perturb, uniform
from harness.models.encoder_part import EncoderPart
from harness.pretraining.trainer import CALLBACKS, choose_kernels, make_trainer, seed_torch
from harness.tasks.examples import Examples


@dataclass(frozen=True)
class Finetuned:
    """The result of one run; sequences have one value per task."""

    model: MultitaskModel
    steps: Sequence[int]
    losses: Sequence[float]
    """Mean training loss over the last updates, as many as one epoch of the task has; NaN without
    updates."""
    shares: Sequence[float]
    """Probability of each task in the draw of the updates."""
    costs: Costs | None
    """Null for several tasks."""

    @property
    def diverged(self) -> bool:
        """Whether the loss of any trained task is not finite."""
        ends = [loss for loss, steps in zip(self.losses, self.steps, strict=True) if steps]
        return not np.isfinite(ends).all()


def finetune(
    model_folder: Path,
    tasks: Sequence[TaskData],
    settings: Finetune,
    *,
    seed: int,
    initial_seed: int | None = None,
    mixing: Multitask | None = None,
    adaptation: Adaptation = ADAPTATIONS["full"],
    progress: Callable[[int, int], None] = lambda done, total: None,
    on_epoch: OnEpoch | None = None,
    callbacks: Sequence[pl.Callback] = (),
    compute: Compute = DEFAULT_COMPUTE,
    loggers: Sequence[Logger] = (),
) -> Finetuned:
    """Fine-tunes the backbone in `model_folder` with a head for each task.

    A function of its arguments: the seed decides the initial heads, the order of tasks and
    examples, and dropout.

    Args:
        initial_seed: of the initial heads alone; null: `seed`.
        mixing: how batches of several tasks are mixed; null is the default of `Multitask`.
        adaptation: of a single task; several are trained with `full`.
        on_epoch: called after each epoch of `settings` with the model and the epoch, from 1.
        callbacks: called on every update, after progress is reported.
        loggers: receive the mean loss and the learning rate, about LOGGED_POINTS times.

    Raises:
        ValueError: pooling, auxiliary loss or a setting does not suit the backbone or adaptation.
    """
    mixing = mixing or Multitask()
    settings = _with_layer_epochs(settings, tasks[0])
    batches = MultitaskBatches(tasks, settings, mixing, seed)
    hook = EpochCallback(progress)
    fixed: dict[str, Any] = {"precision": compute.precision, "max_epochs": 1}  # of all examples
    trainer = make_trainer(hook, *callbacks, compute=compute, loggers=loggers, **fixed)
    heads = [task.head for task in tasks]
    first = seed if initial_seed is None else initial_seed
    model = _with_heads(model_folder, heads, mixing, adaptation, settings, first)
    choose_kernels(model, compute)
    costs = _costs(model.part(0), tasks[0], settings) if len(tasks) == 1 else None
    # Callbacks read all weights, auxiliary losses predict all tokens, and unused rows decay to 0.
    needs_all = bool(callbacks or settings.predicts_tokens or settings.decay_toward)
    whole = needs_all or trainer.strategy.root_device.type != "cpu"
    used = None if whole else use_rows([model.part(i) for i in range(len(heads))], tasks)
    hook.on_epoch = with_all_rows(on_epoch, used) if on_epoch and used else on_epoch
    layers = layers_of_teacher(model.backbone, tasks[0].soft_targets, adaptation, seed)
    loss, divergences = _loss(model, tasks), partial(multitask_divergences, heads)
    steps = batches.num_steps
    ranks = _rank_budget(model, adaptation, steps)
    module = FinetuningModule(model, loss, settings, steps, seed, used, divergences, layers, ranks)
    module.train()  # loading leaves the backbone in evaluation mode, without dropout
    of_plugins = callbacks or CALLBACKS  # which may follow each update
    runs = Runs(batches, (lambda step: 1) if of_plugins else module.num_updates_at_once)
    trainer.fit(module, DataLoader(runs, batch_size=None))
    if used:
        used.restore()
    return Finetuned(model, *_ends(module, batches), batches.shares.tolist(), costs)


def _with_heads(
    model_folder: Path,
    heads: Sequence[TaskHead],
    mixing: Multitask,
    adaptation: Adaptation,
    settings: Finetune,
    seed: int,
) -> MultitaskModel:
    """The backbone in `model_folder` with all heads, each initialised as for its task alone."""
    first = prepared_model(model_folder, heads[0], adaptation, seed, settings)
    others = [_with_head(head, first.backbone, adaptation, seed) for head in heads[1:]]
    train_used(first, others)
    return MultitaskModel([first, *others], mixing)


def _rank_budget(model: MultitaskModel, adaptation: Adaptation, steps: int) -> RankBudget | None:
    if not isinstance(adaptation, Adalora):
        return None
    return RankBudget(model.backbone.network, adaptation, steps)


def _loss(model: MultitaskModel, tasks: Sequence[TaskData]) -> Loss:
    """The loss of the tasks; of a single one with soft targets, with that to a teacher."""
    heads = [task.head for task in tasks]
    loss: Loss = partial(multitask_loss, heads, model.log_variances)
    if soft := tasks[0].soft_targets:
        return partial(distilled_loss, loss, heads[0].task.kind, soft.settings)
    return loss


def _with_layer_epochs(settings: Finetune, task: TaskData) -> Finetune:
    """The settings with the epochs in which the layers of a teacher are learned."""
    first = task.soft_targets.layer_epochs if task.soft_targets else 0
    return settings.model_copy(update={"epochs": first + settings.epochs})


def _ends(module: FinetuningModule, batches: MultitaskBatches) -> tuple[list[int], list[float]]:
    """Updates of each task, and its mean loss over the last ones (`Finetuned.losses`)."""
    losses = torch.stack(module.losses)
    of_each = [losses[torch.from_numpy(batches.indices == i)] for i in range(len(batches.parts))]
    last = [part.num_steps // module.finetune.epochs for part in batches.parts]
    ends = [float(own[-n:].mean()) for own, n in zip(of_each, last, strict=True)]
    return [len(own) for own in of_each], ends


def _costs(model: TaskModel, task: TaskData, settings: Finetune) -> Costs:
    """Costs in the last epoch, with a batch of the longest inputs."""
    sizes = task.train.num_tokens if task.head.reads_documents else task.train.lengths
    longest = np.argsort(sizes, kind="stable")[-settings.batch_size :]
    batch = task.head.collate(task.train, longest)
    divergences = task.head.divergences if settings.sift_weight else None
    optimizer, last = settings.optimizer or "adamw", settings.epochs - 1
    return measure(model, task.head.loss, batch, last, divergences, optimizer)


def prepared_model(
    folder: Path, head: TaskHead, adaptation: Adaptation, seed: int, settings: Finetune
) -> TaskModel:
    """The backbone in `folder` with a new head, adapted and ready for its first update.

    Raises:
        ValueError: pooling, auxiliary loss or a setting does not suit the backbone or adaptation.
    """
    backbone = load(folder)
    _check_objectives(settings, backbone, adaptation)
    if head.protocol.use == "encoder":
        backbone = EncoderPart(backbone)
    _check_auxiliary(settings, backbone.representation, adaptation)
    network = backbone.network
    family = network.config.model_type or backbone.family
    noise = noise_problem(settings, family, backbone.representation)
    alone = fixed_problem(settings, backbone.family)
    if why := settings_problem(settings, adaptation) or noise or alone:
        raise ValueError(why)
    model = _with_head(head, backbone, adaptation, seed)
    model.predicts_tokens = settings.predicts_tokens
    freeze_unused(model)
    if settings.reinit_layers:
        reinitialise(model, settings.reinit_layers)
    if alpha := settings.neftune_alpha:
        perturb(network, partial(uniform, alpha=alpha, padding=head.pad_token_id))
    if settings.embeddings == "fixed":
        network.get_input_embeddings().requires_grad_(False)
    adapt(model, adaptation)
    return model


def _with_head(head: TaskHead, backbone: Backbone, adaptation: Adaptation, seed: int) -> TaskModel:
    seed_torch(torch.device("cpu"), seed)
    return head.make_model(backbone, adaptation)


def _check_auxiliary(settings: Finetune, reading: str, adaptation: Adaptation) -> None:
    if settings.auxiliary_lm_weight and (reading != "causal" or adaptation.kind == "frozen"):
        found = "frozen" if adaptation.kind == "frozen" else reading
        raise ValueError(
            "finetune.auxiliary_lm_weight needs a causal model whose backbone is trained, but this "
            f"one is {found}; set it to 0"
        )


def _check_objectives(settings: Finetune, backbone: Backbone, adaptation: Adaptation) -> None:
    known = backbone.facts.representations
    if why := auxiliary_problem(settings, adaptation, backbone.representation, known):
        raise ValueError(why)


@torch.inference_mode()
def predict(
    model: TaskModel,
    head: TaskHead,
    data: Encoded,
    examples: Examples,
    precision: str = DEFAULT_COMPUTE.precision,
) -> np.ndarray:
    """[num_examples] predictions of `TaskHead.predictions`; leaves the model in evaluation mode.

    Args:
        precision: as in `Compute`.
    """
    found = _of_each_item(partial(head.predict_batch, model), model, head, data, precision)
    return head.predictions(found, data, examples)


@torch.inference_mode()
def outputs(
    model: TaskModel, head: TaskHead, data: Encoded, precision: str = DEFAULT_COMPUTE.precision
) -> np.ndarray:
    """[num_items, C] outputs of the model, float32; leaves it in evaluation mode.

    Args:
        precision: as in `Compute`.
    """
    return np.stack(
        _of_each_item(
            lambda batch: model(batch).float().cpu().numpy(), model, head, data, precision
        )
    )


def _of_each_item(
    found_of: Callable[[Batch], Sequence[Any]],
    model: TaskModel,
    head: TaskHead,
    data: Encoded,
    precision: str,
) -> list[Any]:
    """What `found_of` finds for each item of a batch, in the order of `data`."""
    model.eval()
    device = next(model.parameters()).device
    of_items: list[Any] = [None] * data.num_items
    most = MAX_ITEMS
    if head.reads_documents and data.num_items:
        most = max(1, most // int(data.rows_per_item.max()))
    for items in evaluation_batches(data, most):
        batch = {name: value.to(device) for name, value in head.collate(data, items).items()}
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16-mixed"):
            found = found_of(batch)
        for item, output in zip(items, found, strict=True):
            of_items[item] = output
    return of_items
