"""What the fine-tuning run of a teacher leaves for its students."""

from pathlib import Path

import numpy as np

from harness.execution.stages.task_runner import TaskRunner, network_folder
from harness.finetuning.augmentation import (
    augmented_texts,
    outputs_folder,
    save_texts,
    with_labels,
)
from harness.finetuning.distillation import Augmentation
from harness.finetuning.soft_targets import OUTPUTS
from harness.finetuning.task_model import TaskModel
from harness.models.build import load


def save_outputs(runner: TaskRunner, model: TaskModel, out: Path) -> None:
    """Writes the [num_examples, C] outputs of a model on the train set to `out`; and for each
    augmentation of the spec the texts with their copies, and the outputs on these."""
    examples = runner.train_examples
    assert examples is not None
    np.save(out / OUTPUTS, runner.outputs(model, examples))
    for given in runner.context.spec.get("teaches_augmented", ()):
        settings = Augmentation.model_validate(given)
        texts = augmented_texts(
            examples.texts,
            settings,
            load(network_folder(runner.context)),
            runner.head.tokenizer,
            runner.protocol.max_sequence_length,
            runner.context.spec["seed"],
        )
        folder = outputs_folder(out, settings)
        save_texts(texts, folder)
        np.save(folder / OUTPUTS, runner.outputs(model, with_labels(texts, examples)))
