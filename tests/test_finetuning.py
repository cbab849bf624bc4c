"""Fine-tuning: pooling by hand, deterministic, learns."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from harness.adaptation import Finetune, Protocol
from harness.finetuning import Encoded, TrainBatches, collate, finetune, pool, predict, score
from harness.tasks import MicroworldData, Task

PAD = 0


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=20,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        initializer_range=0.1,
    )
    BertModel(config).save_pretrained(folder)
    return folder


def make_task(kind: str) -> Task:
    classes = kind == "classification"
    return Task.model_validate(
        {
            "name": "toy",
            "kind": kind,
            "data": MicroworldData(generator="toy"),
            "text_fields": ("sentence",),
            "labels": ("no", "yes") if classes else (),
            "metrics": ("accuracy",) if classes else ("pearson", "spearman"),
            "chance": 0.5 if classes else 0.0,
            "train_size": 64,
            "licence": "none",
            "citation": "none",
        }
    )


def examples(regression: bool, n: int = 64) -> Encoded:
    """Whether (or how often) token 5 occurs among tokens 5..9, in inputs of different lengths."""
    dice = np.random.default_rng(0)
    ids = [[2, *dice.integers(5, 10, dice.integers(2, 6)).tolist(), 3] for _ in range(n)]
    counts = np.array([row.count(5) for row in ids])
    labels = counts.astype(float) if regression else (counts > 0).astype(np.int64)
    return Encoded(ids, [[0] * len(row) for row in ids], labels, 0.0)


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_pooling_ignores_padding(pooling: str) -> None:
    states = torch.tensor([[[1.0, -4.0], [3.0, -2.0], [99.0, 99.0]]])
    expected = {"cls": [1.0, -4.0], "mean": [2.0, -3.0], "max": [3.0, -2.0]}[pooling]
    assert pool(states, torch.tensor([[1, 1, 0]]), pooling).tolist() == [expected]


def test_collate_pads_to_the_longest() -> None:
    data = Encoded([[2, 7, 3], [2, 3]], [[0, 1, 1], [0, 0]], np.array([1, 0]), 0.0)
    batch = collate(data, np.array([1, 0]), PAD)
    assert batch["input_ids"].tolist() == [[2, 3, 0], [2, 7, 3]]
    assert batch["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0], [0, 1, 1]]
    assert batch["labels"].tolist() == [0, 1]


def test_an_epoch_has_every_example_once_and_little_padding() -> None:
    dice = np.random.default_rng(0)
    lengths = dice.integers(3, 60, 1000)
    data = Encoded([[1] * n for n in lengths], [[0] * n for n in lengths], np.zeros(1000), 0.0)
    batches = TrainBatches(data, Finetune(batch_size=32, epochs=2), PAD, seed=0)
    first, second = batches.order(0), batches.order(1)
    assert batches.num_steps == 2 * len(first) == 64
    assert sorted(np.concatenate(first)) == list(range(1000))
    assert not np.array_equal(first[0], second[0])
    assert all(np.array_equal(a, b) for a, b in zip(first, batches.order(0), strict=True))
    positions = sum(len(rows) * lengths[rows].max() for rows in first)
    assert positions < 1.15 * lengths.sum()  # 1.9 in random order


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_it_learns_and_repeats(backbone: Path, kind: str) -> None:
    task, data = make_task(kind), examples(kind == "regression")
    settings = Finetune(learning_rate=5e-3, batch_size=16, epochs=20)
    protocol = Protocol(pooling="mean", head_dropout=0.0)

    def run(seed: int) -> np.ndarray:
        done = finetune(backbone, data, task, protocol, settings, pad_token_id=PAD, seed=seed)
        assert done.steps == 80
        return predict(done.module.model, data, PAD)

    first = run(0)
    main = score(task, data.labels, first)[task.metrics[0]]
    assert main is not None
    assert main > 0.9
    assert np.array_equal(run(0), first)
    if kind == "regression":
        assert not np.array_equal(run(1), first)


def test_every_parameter_is_trained(backbone: Path) -> None:
    task, data = make_task("classification"), examples(False)
    settings = Finetune(learning_rate=1e-3, batch_size=16, epochs=1)
    done = finetune(backbone, data, task, Protocol(), settings, pad_token_id=PAD, seed=0)
    before = dict(BertModel.from_pretrained(backbone, add_pooling_layer=False).named_parameters())
    after = dict(done.module.model.backbone.named_parameters())
    seen = torch.unique(torch.tensor([t for row in data.input_ids for t in row]))
    for name, old in before.items():
        rows = seen if name == "embeddings.word_embeddings.weight" else slice(0, 1)
        if "position" in name or name.endswith("key.bias"):  # the key bias has no effect on softmax
            continue
        assert not torch.equal(old[rows], after[name][rows].cpu()), name


def test_epochs_are_reported_and_weights_can_be_kept(backbone: Path) -> None:
    task, data = make_task("classification"), examples(False)
    settings = Finetune(batch_size=32, epochs=3)
    epochs: list[int] = []
    ticks: list[tuple[int, int]] = []
    finetune(
        backbone,
        data,
        task,
        Protocol(),
        settings,
        pad_token_id=PAD,
        seed=0,
        progress=lambda done, total: ticks.append((done, total)),
        on_epoch=lambda model, epoch: epochs.append(epoch),
    )
    assert epochs == [1, 2, 3]
    assert ticks == [(i + 1, 6) for i in range(6)]


def test_constant_predictions_have_null_correlation() -> None:
    task = make_task("regression")
    scores = score(task, np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0]))
    assert scores == {"pearson": None, "spearman": None}
