"""Layers of a teacher: losses against those of pretraining and by hand, and training on them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.distillation import LayerDistillation, SoftTargetLoss
from harness.finetuning.inputs import Batch
from harness.finetuning.multitask import TaskData
from harness.finetuning.run import Finetuned, finetune
from harness.finetuning.soft_targets import SoftTargets
from harness.finetuning.teacher_layers import TeacherLayers, read_network, save_network
from harness.models import MODELS, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from tests.finetuning.heads.test_conformance import tokenizer
from tests.finetuning.test_multitask import SETTINGS, SIZE, folder, task_data

__all__ = ["folder", "tokenizer"]
DEEP = Size(num_layers=2, hidden_size=24, num_heads=2, intermediate_size=32)
FIRST = LayerDistillation(epochs=3)


def network(size: Size = DEEP, seed: int = 9, name: str = "bert") -> Backbone:
    still = {"initializer_range": 0.2, "dropout": 0.0, "attention_dropout": 0.0}
    tokens = Tokens(vocab_size=20, pad=0, start=2, end=3, pair_format=True)
    return build(MODELS[name].model_copy(update=still), size, tokens, "bidirectional", seed)


def make_batch() -> Batch:
    task = task_data("one", 3)
    return task.head.collate(task.train, np.arange(3))


def layers(settings: LayerDistillation, student: Backbone, teacher: Backbone) -> TeacherLayers:
    torch.manual_seed(0)
    return TeacherLayers(student, teacher, settings, 0.2).eval()


def taught(task: TaskData, settings: LayerDistillation | None, weight: float = 0.0) -> TaskData:
    """A task whose outputs are learned from labels, after the layers of a teacher."""
    loss = SoftTargetLoss(layers=settings, soft_target_weight=weight)
    outputs = np.zeros((task.train.num_items, 2), np.float32)
    return replace(task, soft_targets=SoftTargets(outputs, loss, network() if settings else None))


def weights(run: Finetuned) -> dict[str, torch.Tensor]:
    return run.model.part(0).state_dict()


def test_hidden_states_by_hand() -> None:
    """The embeddings, and the student's layer with the teacher's second (equations 8 and 9)."""
    student, teacher = network(SIZE, 1).eval(), network()
    model = layers(LayerDistillation(attention_weight=0), student, teacher)
    batch, total = make_batch(), 0.0
    assert model.project
    for row, mask in enumerate(batch["attention_mask"]):
        ids = batch["input_ids"][row : row + 1, : int(mask.sum())]
        with torch.no_grad():
            ours, theirs = (one(ids, output_hidden_states=True) for one in (student, teacher))
            for a, b in ((0, 0), (1, 2)):
                difference = model.project(ours.hidden_states[a]) - theirs.hidden_states[b]
                total += (difference**2).mean(-1).sum().item()
    expected = total / int(batch["attention_mask"].sum())
    assert model.loss(student, batch).item() == pytest.approx(expected, rel=1e-4)


def test_attention_by_hand() -> None:
    """Scores before the softmax are logarithms of the probabilities plus a constant of the query,
    which the network's own weights give (equation 7)."""
    student, teacher = network(SIZE, 1).eval(), network()
    settings = LayerDistillation(hidden_weight=0, attention_weight=2)
    model, batch, total = layers(settings, student, teacher), make_batch(), 0.0
    for row, mask in enumerate(batch["attention_mask"]):
        ids = batch["input_ids"][row : row + 1, : int(mask.sum())]
        scores = [_scores(one, ids, layer) for one, layer in ((student, 0), (teacher, 1))]
        total += (scores[0] - scores[1]).square().mean((0, 2)).sum().item()
    expected = 2 * total / int(batch["attention_mask"].sum())
    assert model.loss(student, batch).item() == pytest.approx(expected, rel=1e-4)


def _scores(backbone: Backbone, ids: torch.Tensor, layer: int) -> torch.Tensor:
    """[A, T, T] q k / sqrt(D) of one row, from the inputs of a layer of BERT."""
    with torch.no_grad():
        states = backbone(ids, output_hidden_states=True).hidden_states[layer][0]
        network: Any = backbone.network
        own = network.bert.encoder.layer[layer].attention.self
        query, key = (one(states).unflatten(-1, (2, -1)) for one in (own.query, own.key))
        return torch.einsum("iad,jad->aij", query, key) / query.shape[-1] ** 0.5


def test_a_student_that_equals_its_teacher_has_no_loss() -> None:
    student = network()
    model = layers(FIRST, student, network())
    assert model.project
    torch.nn.init.eye_(model.project.weight)
    assert model.loss(student, make_batch()).item() == pytest.approx(0, abs=1e-6)


def test_the_teacher_stays_as_it_is() -> None:
    student = network(SIZE)
    model = layers(FIRST, student, network()).train()
    assert not model.teacher.training
    model.loss(student, make_batch()).backward()
    assert all(one.grad is None for one in model.teacher.parameters())
    assert model.project and model.project.weight.grad is not None


def test_the_layers_are_learned_before_the_labels(folder: Path) -> None:
    """Its epochs come first, with the same batches as later ones, and only labels train the head;
    the run is deterministic."""
    task = task_data("alone", 24)
    epochs: list[int] = []

    def run() -> Finetuned:
        epochs.clear()
        return finetune(
            folder,
            [taught(task, FIRST)],
            SETTINGS,
            seed=3,
            on_epoch=lambda _, epoch: epochs.append(epoch) or {},  # type: ignore[func-returns-value]
        )

    first, again = run(), run()
    per_epoch = 24 // SETTINGS.batch_size
    assert first.steps == [per_epoch * (FIRST.epochs + SETTINGS.epochs)]
    assert epochs == [1, 2]
    assert first.losses == again.losses
    assert all(torch.equal(value, weights(again)[name]) for name, value in weights(first).items())
    assert not any("project" in name for name in weights(first))
    plain = finetune(folder, [taught(task, None)], SETTINGS, seed=3)
    assert plain.losses != first.losses


def test_a_student_learns_the_layers(folder: Path) -> None:
    """Of the trained student, the states are nearer to a linear map of the teacher's."""
    task, settings = task_data("alone", 48), LayerDistillation(epochs=25)
    plain = finetune(folder, [taught(task, None)], SETTINGS, seed=3)
    given = finetune(folder, [taught(task, settings)], SETTINGS, seed=3)
    batch = task.head.collate(task.train, np.arange(48))
    real = batch["attention_mask"].bool()
    teacher = network().eval()
    with torch.no_grad():
        wanted = teacher(batch["input_ids"], batch["attention_mask"]).last_hidden_state[real]
        errors = []
        for run in (plain, given):
            student = run.model.backbone.eval()
            states = student(batch["input_ids"], batch["attention_mask"]).last_hidden_state[real]
            known = torch.cat((states, torch.ones(len(states), 1)), 1)
            fitted = known @ torch.linalg.lstsq(known, wanted).solution
            errors.append((fitted - wanted).square().mean().item())
    assert errors[1] < 0.7 * errors[0]


def test_networks_that_do_not_correspond_are_refused() -> None:
    three = SIZE.model_copy(update={"num_layers": 3})
    heads = SIZE.model_copy(update={"num_heads": 4})
    with pytest.raises(ValueError, match="multiple of the student's layers"):
        layers(FIRST, network(three), network())
    with pytest.raises(ValueError, match="as many heads as the teacher has, 2, but num_heads is 4"):
        layers(FIRST, network(heads), network())
    with pytest.raises(ValueError, match="need a family with ordinary attention"):
        layers(FIRST, network(), network(name="deberta"))
    with pytest.raises(ValueError, match="must be above 0, but both are 0"):
        LayerDistillation(hidden_weight=0, attention_weight=0)


def test_other_adaptations_are_refused(folder: Path) -> None:
    task = taught(task_data("alone", 8), FIRST)
    with pytest.raises(ValueError, match="layers needs the adaptation full, but it is lora"):
        finetune(folder, [task], SETTINGS, seed=0, adaptation=ADAPTATIONS["lora"])


def test_a_network_is_read_again_by_students_of_its_vocabulary(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    backbone = network()
    save_network(backbone, tokenizer, tmp_path)
    again, expected = read_network(tmp_path, tokenizer), backbone.state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in again.state_dict().items())
    other = PreTrainedTokenizerFast.from_pretrained(tmp_path / "teacher")
    other.add_tokens(["another"])
    with pytest.raises(ValueError, match="needs a teacher with the vocabulary of the student"):
        read_network(tmp_path, other)
    assert load(tmp_path / "teacher").family == "bert"
