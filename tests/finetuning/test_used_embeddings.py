"""Training the used rows of the token embeddings alone gives what training all of them gives."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import PreTrainedTokenizerFast

from harness.finetuning import run
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.multitask import MultitaskModel, TaskData
from harness.finetuning.protocol import Finetune
from harness.finetuning.run import finetune, predict
from harness.finetuning.task_model import TaskModel
from harness.finetuning.used_embeddings import UsedEmbeddings, use_rows
from harness.models.backbone import Backbone
from harness.models.build import load
from tests.finetuning.test_module import (
    NETWORKS,
    backbone,  # noqa: F401  # a fixture
    encoded,
    examples_of,
    inputs,
    make_head,
    saved,
    tokenizer,  # noqa: F401  # a fixture
)

SETTINGS = Finetune(learning_rate=1e-2, epochs=2, batch_size=8, weight_decay=0.1)
OTHER = encoded([[2, 11, 12, 3], [2, 13, 5, 3]], np.array([0, 1]))
"""Examples with tokens that those of the training set lack."""

Scored = list[np.ndarray]


def tuned(
    folder: Path, data: TaskData, settings: Finetune = SETTINGS, **options: Any
) -> tuple[MultitaskModel, Scored]:
    """The model after training, and its predictions for OTHER after each epoch."""
    scored: Scored = []

    def on_epoch(model: MultitaskModel, epoch: int) -> Mapping[str, float]:
        scored.append(predict(model.part(0), data.head, OTHER, examples_of(OTHER)))
        return {}

    found = finetune(folder, [data], settings, seed=0, on_epoch=on_epoch, **options)
    scored.append(predict(found.model.part(0), data.head, OTHER, examples_of(OTHER)))
    return found.model, scored


def check_equal(
    folder: Path, data: TaskData, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> UsedEmbeddings | None:
    """Checks that training with all rows gives the same; returns what the rows were."""
    made: list[UsedEmbeddings | None] = []

    def noted(models: list[TaskModel], tasks: list[TaskData]) -> UsedEmbeddings | None:
        made.append(use_rows(models, tasks))
        return made[-1]

    monkeypatch.setattr(run, "use_rows", noted)
    model, scored = tuned(folder, data, **options)
    monkeypatch.setattr(run, "use_rows", lambda *_: None)
    expected, wanted = tuned(folder, data, **options)
    weights, others = dict(model.named_parameters()), dict(expected.named_parameters())
    assert weights.keys() == others.keys()
    assert model.state_dict().keys() == expected.state_dict().keys()
    for name, weight in others.items():
        assert weights[name].requires_grad == weight.requires_grad, name
        torch.testing.assert_close(weights[name], weight, atol=2e-5, rtol=2e-4, msg=name)
    for one, other in zip(scored, wanted, strict=True):
        assert one == pytest.approx(other, abs=1e-3)
    return made[0]


@pytest.mark.parametrize(("family", "representation"), NETWORKS)
def test_every_family_ends_with_the_same_weights(
    family: str,
    representation: str,
    tmp_path: Path,
    tokenizer: PreTrainedTokenizerFast,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = saved(tmp_path, family, representation)
    data = TaskData(make_head("regression", tokenizer), inputs(True, n=24))
    used = check_equal(folder, data, monkeypatch)
    assert used is None or {*used.rows.tolist()} - {1} == {0, 2, 3, 5, 6, 7, 8, 9}
    # BART and Gemma scale in classes of their own.
    assert used or family in ("elmo", "static", "bart", "gemma")


@pytest.mark.parametrize(
    ("adaptation", "changes", "is_used"),
    [
        ("full", {"layer_decay": 0.5}, True),
        ("full", {"warmup_fraction": 0.5, "bias_correction": False}, True),
        ("full", {"optimizer": "sgd", "learning_rate": 0.1, "epoch_decay": 0.9}, True),
        ("full", {"embeddings": "fixed"}, False),
        ("gradual", {}, True),
        ("frozen", {}, False),
        ("lora", {}, False),
    ],
)
def test_ways_of_training(
    adaptation: str,
    changes: dict[str, Any],
    is_used: bool,
    backbone: Path,  # noqa: F811
    tokenizer: PreTrainedTokenizerFast,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = TaskData(make_head("classification", tokenizer), inputs(False))
    settings = SETTINGS.model_copy(update=changes)
    chosen = ADAPTATIONS[adaptation]
    used = check_equal(backbone, data, monkeypatch, settings=settings, adaptation=chosen)
    assert bool(used) == is_used


def embeddings(one: Backbone) -> torch.Tensor:
    network: Any = one.network
    weight: torch.Tensor = network.get_input_embeddings().weight
    return weight.detach().clone()


def test_other_rows_decay_and_used_ones_are_trained(
    backbone: Path,  # noqa: F811
    tokenizer: PreTrainedTokenizerFast,  # noqa: F811
) -> None:
    data = TaskData(make_head("classification", tokenizer), inputs(False))
    before = embeddings(load(backbone))
    model, _ = tuned(backbone, data)
    after = embeddings(model.part(0).backbone)
    ratio = (after / before)[15]
    assert ratio.std() < 1e-5 and 0.9 < float(ratio.mean()) < 1  # by the sum of the rates x 0.1
    assert not torch.allclose(after[5], ratio.mean() * before[5], atol=1e-3)


def test_a_token_without_a_row_is_an_error_not_another_token() -> None:
    module = nn.Embedding(10, 4)
    used = UsedEmbeddings([module], np.array([0, 3, 5]))
    assert torch.equal(module(torch.tensor([3])), used.whole_weight[3][None])
    with pytest.raises(IndexError):
        module(torch.tensor([4]))
    with used.whole():
        assert torch.equal(module(torch.tensor([4])), used.whole_weight[4][None])
    used.restore()
    assert module.weight is used.whole_weight and module.weight.requires_grad
    assert "forward" not in vars(module)


def test_most_rows_or_other_readers_of_all_rows(
    backbone: Path,  # noqa: F811
    tokenizer: PreTrainedTokenizerFast,  # noqa: F811
) -> None:
    head = make_head("classification", tokenizer)
    many = encoded([[*range(20)]] * 2, np.array([0, 1]))
    model = run.prepared_model(backbone, head, ADAPTATIONS["full"], 0, SETTINGS)
    assert use_rows([model], [TaskData(head, many)]) is None
    module: Any = model.backbone.network.get_input_embeddings()
    module.max_norm = 1.0
    assert use_rows([model], [TaskData(head, inputs(False))]) is None
