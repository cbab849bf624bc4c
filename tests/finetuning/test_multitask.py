"""Multitask training: mixing and losses against formulas, one task against a plain loop."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast, get_linear_schedule_with_warmup

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads import task_head
from harness.finetuning.heads.classification import Classification, Regression
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Encoded, Ragged, TrainBatches
from harness.finetuning.multitask import (
    TASK,
    MultitaskBatches,
    TaskData,
    load_head,
    mixing_shares,
    multitask_loss,
    save_head,
)
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune, prepared_model
from harness.finetuning.task_chain import Multitask
from harness.models import MODELS, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.pretraining.trainer import seed_torch
from harness.tasks import TASKS
from harness.tasks.examples import Examples, column
from tests.finetuning.heads.test_conformance import make_task

FULL = ADAPTATIONS["full"]
SIZE = Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32)
SETTINGS = Finetune(epochs=2, batch_size=4, learning_rate=1e-2)


class Padding:
    """The part of a tokenizer that a head uses for encoded examples."""

    pad_token_id = 0


def task_data(name: str, num_items: int, values: bool = False, seed: int = 0) -> TaskData:
    rng = np.random.default_rng(seed)
    rows = [
        [2, *rng.integers(4, 20, size=rng.integers(1, 6)).tolist(), 3] for _ in range(num_items)
    ]
    labels = np.array([row[1] % 2 for row in rows])
    head: type[TaskHead] = Regression if values else Classification
    task = TASKS["micro-stsb" if values else "micro-sst2"].model_copy(update={"name": name})
    train = Encoded(
        Ragged.of(rows),
        Ragged.of([[0] * len(row) for row in rows]),
        labels.astype(np.float64) if values else labels,
        0.0,
    )
    return TaskData(head(task, Protocol(), Padding()), train)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tokens = Tokens(vocab_size=20, pad=0, start=2, end=3, pair_format=True)
    build(MODELS["bert"], SIZE, tokens, "bidirectional", 0).save(folder)
    return folder


def test_shares_are_those_of_t5() -> None:
    """Raffel et al. 2020, section 3.5.2: r_m = min(e_m, K) / sum, to the power of 1/T."""
    sizes = [100, 400, 10_000]
    assert mixing_shares(sizes, Multitask()) == pytest.approx(np.array(sizes) / 10_500)
    assert mixing_shares(sizes, Multitask(max_examples=500)) == pytest.approx([0.1, 0.4, 0.5])
    assert mixing_shares(sizes, Multitask(mixing="equal")) == pytest.approx([1 / 3] * 3)
    rates = np.sqrt(sizes)
    found = mixing_shares(sizes, Multitask(mixing="temperature", temperature=2))
    assert found == pytest.approx(rates / rates.sum())
    assert mixing_shares(sizes, Multitask(mixing="temperature", temperature=1)) == pytest.approx(
        mixing_shares(sizes, Multitask())
    )


def test_the_number_of_updates_is_the_sum_and_tasks_are_drawn_by_share() -> None:
    tasks = [task_data("small", 40), task_data("large", 360)]
    batches = MultitaskBatches(tasks, SETTINGS, Multitask(), 0)
    assert batches.num_steps == 2 * (10 + 90) == len(list(batches))
    drawn = np.bincount(batches.indices) / batches.num_steps
    assert drawn == pytest.approx([0.1, 0.9], abs=4 * math.sqrt(0.09 / 200))


def test_batches_are_decided_by_the_seed() -> None:
    tasks = [task_data("one", 12), task_data("other", 20, seed=1)]

    def read(seed: int) -> list[tuple[int, list[int]]]:
        batches = MultitaskBatches(tasks, SETTINGS, Multitask(mixing="equal"), seed)
        return [(int(batch[TASK]), batch["input_ids"].flatten().tolist()) for batch in batches]

    assert read(0) == read(0) != read(1)


def test_a_task_with_few_batches_is_repeated() -> None:
    tasks = [task_data("tiny", 4), task_data("large", 60)]
    batches = MultitaskBatches(tasks, SETTINGS, Multitask(mixing="equal"), 0)
    rows = [batch for batch in batches if int(batch[TASK]) == 0]
    assert len(rows) > 2 * 1
    assert all(sorted(b["labels"].tolist()) == sorted(rows[0]["labels"].tolist()) for b in rows)


def test_one_task_equals_a_plain_loop(folder: Path) -> None:
    settings = SETTINGS.model_copy(update={"weight_decay": 0.0, "warmup_fraction": 0.0})
    task = task_data("alone", 24)
    run = finetune(folder, [task], settings, seed=3)
    model = prepared_model(folder, task.head, FULL, 3, settings).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0, eps=1e-6)
    schedule = get_linear_schedule_with_warmup(optimizer, 0, 12)
    losses = []
    for step, batch in enumerate(TrainBatches(task.train, settings, task.head.collate, 3)):
        seed_torch(torch.device("cpu"), 3, step)
        optimizer.zero_grad()
        loss = task.head.loss(model(batch), batch)
        losses.append(loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    assert run.steps == [12] and run.losses == pytest.approx([np.mean(losses[6:])])
    for name, weights in model.state_dict().items():
        torch.testing.assert_close(run.model.part(0).state_dict()[name], weights)


def test_tasks_share_one_network_and_each_has_its_head(folder: Path) -> None:
    tasks = [task_data("classes", 16), task_data("values", 16, values=True)]
    runs = [finetune(folder, tasks, SETTINGS, seed=0) for _ in range(2)]
    first, second = (runs[0].model.part(place) for place in (0, 1))
    assert first.backbone is second.backbone
    before = prepared_model(folder, tasks[0].head, FULL, 0, SETTINGS).state_dict()
    after = first.state_dict()
    assert any(not torch.equal(before[name], after[name]) for name in before)
    again = runs[1].model.state_dict()
    assert all(torch.equal(w, again[n]) for n, w in runs[0].model.state_dict().items())
    assert sum(runs[0].steps) == 2 * 8 and not runs[0].diverged


def output_matrix(backbone: Backbone) -> torch.Tensor:
    network: Any = backbone.network
    weight: torch.Tensor = network.get_output_embeddings().weight
    return weight.detach().clone()


@pytest.mark.parametrize("order", [1, -1])
def test_an_untied_token_head_is_trained_if_one_task_writes(order: int, tmp_path: Path) -> None:
    train(Tokenizer(vocab_size=64), iter(["the cat saw a dog in rain"] * 9), tmp_path)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    tokens = Tokens(len(tokenizer), pad=0, start=2, end=3, pair_format=True)
    network = build(MODELS["t5_v1_1"], SIZE, tokens, "encoder_decoder", 0)
    before = output_matrix(network)
    network.save(tmp_path / "model")
    texts: list[tuple[str, ...]] = [("a cat", "the dog saw rain")] * 8
    labels = {"classification": np.arange(8) % 2, "generation": column([("the cat",)] * 8)}
    tasks = []
    for kind, of_kind in labels.items():
        head = task_head(make_task(kind), Protocol(), tokenizer)
        tasks.append(TaskData(head, head.encode(Examples(texts, of_kind))))
    run = finetune(tmp_path / "model", tasks[::order], SETTINGS, seed=0)
    assert min(run.steps) > 0 and not torch.equal(before, output_matrix(run.model.backbone))


def test_uncertainty_weighs_as_in_its_paper(folder: Path) -> None:
    """Kendall et al. 2018, equations 5 and 10, with s = log sigma^2."""
    heads = [task_data("classes", 4).head, task_data("values", 4, values=True).head]
    s = torch.tensor([0.3, -0.7])
    logits, value, label = torch.randn(3, 2), torch.randn(3, 1), torch.tensor([0, 1, 1])
    classes = torch.nn.functional.cross_entropy(logits, label)
    values = (value.squeeze(1) - label).square().mean()
    sigma = torch.exp(s / 2)
    found = multitask_loss(heads, s, logits, {TASK: torch.tensor(0), "labels": label})
    torch.testing.assert_close(found, classes / sigma[0] ** 2 + sigma[0].log())
    found = multitask_loss(heads, s, value, {TASK: torch.tensor(1), "labels": label})
    torch.testing.assert_close(found, values / (2 * sigma[1] ** 2) + sigma[1].log())


def test_variances_are_learned(folder: Path) -> None:
    tasks = [task_data("classes", 16), task_data("values", 16, values=True)]
    run = finetune(folder, tasks, SETTINGS, seed=0, mixing=Multitask(loss_weights="uncertainty"))
    assert run.model.log_variances is not None and run.model.log_variances.abs().min() > 0


def test_a_head_is_saved_without_its_network(folder: Path, tmp_path: Path) -> None:
    one, other = task_data("classes", 8), task_data("values", 8, values=True)
    trained = finetune(folder, [one, other], SETTINGS, seed=0).model
    save_head(trained.part(0), tmp_path / "heads" / "classes.safetensors")
    fresh = prepared_model(folder, one.head, FULL, 1, SETTINGS)
    network = {name: w.clone() for name, w in fresh.backbone.state_dict().items()}
    load_head(fresh, tmp_path / "heads" / "classes.safetensors")
    expected = trained.part(0).state_dict()
    assert torch.equal(fresh.state_dict()["head.weight"], expected["head.weight"])
    assert all(torch.equal(w, fresh.backbone.state_dict()[n]) for n, w in network.items())


def test_the_head_of_another_model_is_refused(folder: Path, tmp_path: Path) -> None:
    one = task_data("classes", 8)
    torch_file = tmp_path / "empty.safetensors"
    save_head(torch.nn.Module(), torch_file)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"must hold head\.bias, head\.weight, but holds"):
        load_head(prepared_model(folder, one.head, FULL, 0, SETTINGS), torch_file)
