"""Soft targets of a teacher: losses against formulas, and training on them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from harness.finetuning.distillation import SoftTargetLoss
from harness.finetuning.multitask import TaskData
from harness.finetuning.run import Finetuned, finetune, outputs
from harness.finetuning.soft_targets import (
    OUTPUTS,
    TEACHER,
    SoftTargets,
    distilled_loss,
    read_soft_targets,
    soft_target_loss,
)
from tests.finetuning.test_multitask import SETTINGS, folder, task_data

__all__ = ["folder"]
LONGER = SETTINGS.model_copy(update={"epochs": 12})


def taught(task: TaskData, wanted: np.ndarray, **fields: float) -> TaskData:
    settings = SoftTargetLoss(**fields)
    return replace(task, soft_targets=SoftTargets(wanted.astype(np.float32), settings))


def weights(run: Finetuned) -> dict[str, torch.Tensor]:
    return run.model.part(0).state_dict()


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_the_loss_of_classes_is_the_divergence_plus_a_constant(temperature: float) -> None:
    """T^2 (KL + entropy of the teacher), by torch's KL divergence; and by hand at T = 1."""
    ours, theirs = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0))
    softened = (theirs / temperature).softmax(1)
    divergence = F.kl_div((ours / temperature).log_softmax(1), softened, reduction="batchmean")
    entropy = torch.distributions.Categorical(softened).entropy().mean()
    found = soft_target_loss("classification", ours, theirs, temperature)
    torch.testing.assert_close(found, temperature**2 * (divergence + entropy))
    if temperature == 1:  # equation 10
        by_hand = -(theirs.exp() / theirs.exp().sum(1, True) * ours.log_softmax(1)).sum(1).mean()
        torch.testing.assert_close(found, by_hand)


def test_the_loss_of_values_is_the_squared_error() -> None:
    ours, theirs = torch.tensor([[1.0], [3.0]]), torch.tensor([[0.0], [5.0]])
    assert soft_target_loss("regression", ours, theirs, 1.0).item() == (1 + 4) / 2


def test_the_weights_of_both_losses_sum_to_one() -> None:
    logits, labels = torch.tensor([[0.2, -1.0]]), torch.tensor([1])
    batch = {"labels": labels, TEACHER: torch.tensor([[2.0, 0.0]])}
    settings = SoftTargetLoss(soft_target_weight=0.3)
    head = task_data("classes", 4).head
    found = distilled_loss(head.loss, "classification", settings, logits, batch)
    log_p = logits.log_softmax(1)[0]
    p = torch.sigmoid(torch.tensor(2.0))
    expected = 0.7 * -log_p[1] + 0.3 * -(p * log_p[0] + (1 - p) * log_p[1])
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("values", [False, True])
def test_without_weight_it_is_plain_fine_tuning_to_the_digit(folder: Path, values: bool) -> None:
    task = task_data("alone", 24, values=values)
    wanted = np.random.default_rng(0).normal(size=(24, 1 if values else 2))
    plain = finetune(folder, [task], SETTINGS, seed=3)
    given = finetune(folder, [taught(task, wanted, soft_target_weight=0)], SETTINGS, seed=3)
    assert given.losses == plain.losses
    found, expected = weights(given), weights(plain)
    assert all(torch.equal(found[name], value) for name, value in expected.items())


def test_training_is_deterministic_and_follows_the_teacher(folder: Path) -> None:
    task, wanted = task_data("alone", 24), np.random.default_rng(0).normal(size=(24, 2))
    runs = [finetune(folder, [taught(task, wanted)], SETTINGS, seed=3) for _ in range(2)]
    assert all(torch.equal(w, weights(runs[1])[n]) for n, w in weights(runs[0]).items())
    other = finetune(folder, [taught(task, -wanted)], SETTINGS, seed=3)
    assert not torch.equal(weights(other)["head.weight"], weights(runs[0])["head.weight"])


def test_a_student_learns_the_answers_of_its_teacher(folder: Path) -> None:
    """The teacher says the opposite of the labels."""
    task = task_data("classes", 64)
    wanted = np.where(task.train.targets[:, None] == [0, 1], -3.0, 3.0)  # type: ignore[index]
    model = finetune(folder, [taught(task, wanted)], LONGER, seed=0).model.part(0)
    found = outputs(model, task.head, task.train)
    assert found.shape == (64, 2) and found.dtype == np.float32
    assert (found.argmax(1) == wanted.argmax(1)).mean() > 0.95
    assert (found.argmax(1) == task.train.targets).mean() < 0.05


def test_a_student_learns_the_values_of_its_teacher(folder: Path) -> None:
    task = task_data("values", 64, values=True)
    wanted = 4.0 - 2 * np.asarray(task.train.targets)[:, None]
    model = finetune(folder, [taught(task, wanted)], LONGER, seed=0).model.part(0)
    assert np.abs(outputs(model, task.head, task.train) - wanted).mean() < 0.5


def test_outputs_are_in_the_order_of_the_examples(folder: Path) -> None:
    task = task_data("classes", 20)
    model = finetune(folder, [task], SETTINGS, seed=0).model.part(0).eval()
    found = outputs(model, task.head, task.train)
    for item in (0, 7, 19):
        with torch.inference_mode():
            own = model(task.head.collate(task.train, np.array([item])))
        np.testing.assert_allclose(found[item], own[0].numpy(), atol=1e-5)


def test_outputs_of_other_examples_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / OUTPUTS, np.zeros((4, 2), np.float32))
    settings = SoftTargetLoss()
    assert read_soft_targets(tmp_path, settings, (4, 2)).outputs.shape == (4, 2)
    with pytest.raises(ValueError, match=r"must be 5 examples x 2, .* but are 4 x 2"):
        read_soft_targets(tmp_path, settings, (5, 2))
