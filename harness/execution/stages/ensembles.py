"""The run that scores an ensemble of finished runs."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from harness.execution.stages.task_runner import SETTINGS, TaskRun, TaskRunner, network_folder
from harness.finetuning.adaptation import read_adaptation
from harness.finetuning.adapted_weights import load_adapted
from harness.finetuning.averaged_models import AveragedOutputs, averaged_weights
from harness.finetuning.protocol import Finetune
from harness.finetuning.run import prepared_model
from harness.finetuning.task_model import TaskModel
from harness.plan.ensemble_stages import NETWORK, members_of
from harness.pretraining.distributed import one_device


def ensemble(runner: TaskRunner) -> TaskRun:
    """The members of the spec as one model. It diverged if a weight of a member is not finite."""
    if runner.context.spec["ensemble"]["average"] == "weights":
        kept = model = averaged_weights(_members(runner))
    else:
        kept, model = None, AveragedOutputs(list(_members(runner)))
    predict = runner.predictor(model)
    if not all(weights.isfinite().all() for weights in model.parameters()):
        return TaskRun(predict, None, math.nan, model=kept)
    return TaskRun(predict, runner.holdout_score(predict), model=kept)


def _members(runner: TaskRunner) -> Iterator[TaskModel]:
    """The networks that the members saved, on the device of the run, each as it is needed. Their
    settings may differ, as each pretraining seed may have a search of its own."""
    spec, inputs = runner.context.spec, runner.context.inputs
    device = one_device(runner.context.compute)
    seeds = spec["ensemble"]["seeds"]
    for number, (folder, own_seed) in enumerate(zip(members_of(inputs), seeds, strict=True)):
        seed = spec.get("initial_seed", own_seed)  # decides what is new and not trained
        settings = json.loads((folder / SETTINGS).read_text())
        adaptation = read_adaptation(settings.pop("adaptation"))
        chosen = Finetune.model_validate(settings)
        model = prepared_model(_network(runner, number), runner.head, adaptation, seed, chosen)
        load_adapted(model, adaptation, folder / "weights")
        yield model.to(device)


def _network(runner: TaskRunner, number: int) -> Path:
    """Folder of the pretrained network of a member: its own, or that of all."""
    own = runner.context.inputs.get(f"{NETWORK}{number}")
    if own is None:
        return runner.model
    inputs = {**runner.context.inputs, "pretrain": own}
    return network_folder(replace(runner.context, inputs=inputs))
