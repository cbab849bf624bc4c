"""The training data of instruction and preference tuning."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from harness.data.tokenizers.loading import load_tokenizer
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads.prompt_answers import Preferences, PreferredAnswers, PromptAnswers
from harness.finetuning.inputs import Encoded
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import predict, prepared_model
from harness.models.build import load
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.scoring.likelihood import objective_of
from harness.tasks.examples import Examples
from harness.tasks.task import Task


def prompt_data(
    model: Path,
    tokenizer: Path,
    tasks: Sequence[tuple[Task, Examples]],
    protocol: Protocol,
    content: Mapping[str, Any],
    precision: str,
) -> list[TaskData]:
    """The examples of each task as prompts with answers, with preferences if `content` has them.

    Args:
        model: the network at the start, which is the reference of preferences.
        content: as `harness.finetuning.prompt_training.PromptTraining.content`.
        precision: as in `Compute`.
    """
    own = load_tokenizer(tokenizer)
    objective = objective_of(load(model), Vocabulary.of(own))
    settings = {name: value for name, value in content.items() if name != "loss"}
    found = []
    for task, examples in tasks:
        if content["loss"] == "answers":
            head = PromptAnswers(task, protocol, own, objective)
            found.append(TaskData(head, head.encode(examples)))
        else:
            pairs = PreferredAnswers(task, protocol, own, objective, **settings)
            encoded = with_reference(pairs, pairs.encode(examples), examples, model, precision)
            found.append(TaskData(pairs, encoded))
    return found


def with_reference(
    head: PreferredAnswers, data: Encoded, examples: Examples, model: Path, precision: str
) -> Preferences:
    """`data` with the log-likelihoods of its answers under the network in the folder `model`,
    without dropout."""
    start = prepared_model(model, head, ADAPTATIONS["full"], 0, Finetune())
    reference = predict(start, head, data, examples, precision).astype("float32")
    own = {field.name: getattr(data, field.name) for field in fields(data)}
    return Preferences(**own, reference=reference)
