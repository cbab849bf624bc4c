"""Fine-tuning: deterministic, learns; every family under one protocol."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

from harness.core.compute import Compute
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.finetuning import length_groups
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads.classification import Classification, Regression
from harness.finetuning.heads.classifier import Classifier
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded, Ragged, pad_rows
from harness.finetuning.module import FinetuningModule
from harness.finetuning.multitask import TASK, MultitaskModel, TaskData, multitask_loss
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune, predict
from harness.finetuning.task_chain import Multitask
from harness.models import FAMILIES, MODELS, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.pretraining.history import HistoryLogger
from harness.pretraining.schedule import Schedule, learning_rate_factor
from harness.pretraining.unread_inputs import UnreadMasks, UnreadTokens
from harness.tasks.examples import Examples
from harness.tasks.metrics import METRICS
from harness.tasks.scores import score
from harness.tasks.task import MicroworldData, Task

PAD, START, END = 0, 2, 3
SIZE = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=128)
NETWORKS = [
    *(
        (name, facts.representations[0])
        for name, facts in FAMILIES.items()
        if facts.kind not in ("baseline", "checkpoint")
    ),
    ("bert", "causal"),
    ("gpt2", "prefix"),
    ("llama", "bidirectional"),
    ("t5", "bidirectional"),
    ("t5_shared", "encoder_decoder"),
]


def make(family: str, representation: str, seed: int = 0, **fields: float) -> Backbone:
    wide = {"initializer_range": 0.1, "max_position": 64, **fields}
    if family in ("albert", "electra"):
        wide["embedding_size"] = 16
    tokens = Tokens(vocab_size=20, pad=PAD, start=START, end=END, pair_format=True)
    return build(MODELS[family].model_copy(update=wide), SIZE, tokens, representation, seed)


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("model"), "bert", "bidirectional")


def saved(folder: Path, family: str, representation: str) -> Path:
    make(family, representation).save(folder)
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


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    folder = tmp_path_factory.mktemp("tokenizer")
    train(Tokenizer(vocab_size=80), iter(["the cat saw a dog in rain"] * 9), folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


def make_head(
    kind: str, tokenizer: PreTrainedTokenizerFast, protocol: Protocol | None = None
) -> TaskHead:
    """Inputs are made by hand; of the tokenizer only the padding token is used."""
    assert tokenizer.pad_token_id == PAD
    head = Classification if kind == "classification" else Regression
    return head(make_task(kind), protocol or Protocol(), tokenizer)


def encoded(rows: list[list[int]], labels: np.ndarray) -> Encoded:
    return Encoded(Ragged.of(rows), Ragged.of([[0] * len(row) for row in rows]), labels, 0.0)


def inputs(regression: bool, n: int = 64) -> Encoded:
    """Whether (or how often) token 5 occurs among tokens 5..9, in inputs of different lengths."""
    rng = np.random.default_rng(0)
    ids = [[2, *rng.integers(5, 10, rng.integers(2, 6)).tolist(), 3] for _ in range(n)]
    counts = np.array([row.count(5) for row in ids])
    return encoded(ids, counts.astype(float) if regression else (counts > 0).astype(np.int64))


def examples_of(data: Encoded) -> Examples:
    """As many examples, with empty texts."""
    assert isinstance(data.targets, np.ndarray)
    return Examples([("",)] * data.num_items, data.targets)


@pytest.mark.parametrize("reading", ["causal", "encoder_decoder", "cbow"])
def test_cls_pooling_needs_a_first_token_with_context(reading: str) -> None:
    family = {"causal": "gpt2", "encoder_decoder": "bart", "cbow": "static"}[reading]
    with pytest.raises(ValueError, match=f"first token.*in a {reading} model; set it to native"):
        Classifier(make(family, reading), 2, Protocol(pooling="cls"))


def test_collate_pads_to_the_longest(tokenizer: PreTrainedTokenizerFast) -> None:
    ids, types = Ragged.of([[2, 7, 3], [2, 3]]), Ragged.of([[0, 1, 1], [0, 0]])
    data = Encoded(ids, types, np.array([1, 0]), 0.0)
    batch = make_head("classification", tokenizer).collate(data, np.array([1, 0]))
    assert batch["input_ids"].tolist() == [[2, 3, 0], [2, 7, 3]]
    assert batch["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0], [0, 1, 1]]
    assert batch["labels"].tolist() == [0, 1]


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_it_learns_and_repeats(
    backbone: Path, kind: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    data = inputs(kind == "regression")
    settings = Finetune(learning_rate=5e-3, batch_size=16, epochs=20)
    head = make_head(kind, tokenizer, Protocol(pooling="mean", head_dropout=0.0))

    def run(seed: int) -> np.ndarray:
        done = finetune(backbone, [TaskData(head, data)], settings, seed=seed)
        assert done.steps == [80]
        return predict(done.model.part(0), head, data, examples_of(data))

    first = run(0)
    assert METRICS[head.task.metrics[0]](examples_of(data).labels, first) > 0.9
    assert np.array_equal(run(0), first)
    if kind == "regression":
        assert not np.array_equal(run(1), first)


def test_every_parameter_is_trained(backbone: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    head, data = make_head("classification", tokenizer), inputs(False)
    settings = Finetune(learning_rate=1e-3, batch_size=16, epochs=1)
    done = finetune(backbone, [TaskData(head, data)], settings, seed=0)
    before = dict(load(backbone).network.base_model.named_parameters())
    after = dict(done.model.part(0).backbone.network.base_model.named_parameters())
    seen = torch.from_numpy(np.unique(data.input_ids.values))
    for name, old in before.items():
        rows = seen if name == "embeddings.word_embeddings.weight" else slice(0, 1)
        if "position" in name or name.endswith("key.bias"):  # the key bias has no effect on softmax
            continue
        assert not torch.equal(old[rows], after[name][rows].cpu()), name


def batch_of(rows: list[list[int]]) -> Batch:
    return pad_rows(encoded(rows, np.zeros(len(rows))), np.arange(len(rows)), PAD)


ROWS = [[2, 7, 5, 3], [2, 5, 9, 6, 8, 7, 3], [2, 3]]


@pytest.mark.parametrize(("family", "representation"), NETWORKS)
@pytest.mark.parametrize("adaptation", ["full", "frozen"])
def test_padding_changes_no_prediction(family: str, representation: str, adaptation: str) -> None:
    torch.manual_seed(0)
    model = Classifier(make(family, representation), 3, Protocol(), ADAPTATIONS[adaptation]).eval()
    with torch.no_grad():
        padded = model(batch_of(ROWS))
        alone = torch.cat([model(batch_of([row])) for row in ROWS])
    torch.testing.assert_close(padded, alone, atol=1e-5, rtol=1e-4)
    if representation != "cbow":
        assert not torch.allclose(padded[0], padded[1], atol=1e-3)


@pytest.mark.parametrize(("family", "representation"), NETWORKS)
@pytest.mark.parametrize("adaptation", ["full", "frozen"])
def test_groups_of_lengths_change_no_gradient(
    family: str, representation: str, adaptation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    backbone = make(family, representation, dropout=0.0, attention_dropout=0.0)
    model = Classifier(backbone, 3, Protocol(head_dropout=0.0), ADAPTATIONS[adaptation]).train()
    batch, found = batch_of([*ROWS, [2, 6, 3]]), []
    for cost in (0, 10**9):  # as many groups as possible, and one
        monkeypatch.setattr(length_groups, "PASS_POSITIONS", cost)
        model.zero_grad()
        logits = model(batch)
        F.cross_entropy(logits, torch.tensor([0, 2, 1, 1])).backward()
        grads = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
        found.append((logits, grads))
    torch.testing.assert_close(*found, atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize(("family", "representation"), NETWORKS)
def test_every_family_is_fine_tuned(
    family: str, representation: str, tmp_path: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    folder = saved(tmp_path, family, representation)
    head, data = make_head("classification", tokenizer), inputs(False)
    settings = Finetune(learning_rate=1e-3, batch_size=16, epochs=1)
    for adaptation in ("full", "frozen"):
        done = finetune(
            folder, [TaskData(head, data)], settings, seed=0, adaptation=ADAPTATIONS[adaptation]
        )
        assert np.isfinite(done.losses[0]) and not done.diverged
        model = done.model.part(0)
        assert set(predict(model, head, data, examples_of(data))) <= {0.0, 1.0}
        assert isinstance(model, Classifier)
        before = load(folder).state_dict()
        after = model.backbone.state_dict()
        same = [torch.equal(value, after[name].cpu()) for name, value in before.items()]
        assert all(same) == (adaptation == "frozen")
        if adaptation == "frozen":
            assert model.mix is not None
            assert len(model.mix.weights) == (1 if family == "static" else 3)
            assert model.mix.gamma.item() != 1


def test_a_frozen_backbone_has_no_dropout() -> None:
    model = Classifier(
        make("elmo", "bilm"), 2, Protocol(head_dropout=0), ADAPTATIONS["frozen"]
    ).train()
    batch = batch_of(ROWS)
    assert torch.equal(model(batch), model(batch))
    assert not model.backbone.training and model.head.training


def test_a_decoder_is_pooled_where_its_input_ends() -> None:
    model = Classifier(make("gpt2", "causal"), 2, Protocol(head_dropout=0)).eval()
    for row, logits in zip(ROWS, model(batch_of(ROWS)), strict=True):
        states = model.backbone(torch.tensor([row])).last_hidden_state[0, -1]
        torch.testing.assert_close(logits, model.head(states))


def test_the_decoder_input_is_the_shifted_source() -> None:
    backbone = make("bart", "encoder_decoder").eval()
    model = Classifier(backbone, 2, Protocol(head_dropout=0)).eval()
    for row, logits in zip(ROWS, model(batch_of(ROWS)), strict=True):
        # fairseq rolls the input by one, so that the end token comes first
        decoder = torch.tensor([[END, *row[:-1]]])
        states = backbone(torch.tensor([row]), decoder_input_ids=decoder).last_hidden_state
        torch.testing.assert_close(logits, model.head(states[0, -1]))


def test_the_auxiliary_loss_is_that_of_a_language_model() -> None:
    backbone = make("gpt2", "causal").eval()
    model = Classifier(backbone, 2, Protocol()).eval()
    batch = batch_of(ROWS)
    mine = model.next_token_loss(batch, model.states(batch))
    network = backbone.network
    assert isinstance(network, GPT2LMHeadModel)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    theirs = network(batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels)
    torch.testing.assert_close(mine, theirs.loss)


def test_the_auxiliary_loss_is_trained_on(
    tmp_path: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    folder = saved(tmp_path, "gpt2", "causal")
    head, data = make_head("classification", tokenizer), inputs(False)

    def language_loss(weight: float) -> float:
        settings = Finetune(learning_rate=1e-3, batch_size=16, epochs=2, auxiliary_lm_weight=weight)
        done = finetune(folder, [TaskData(head, data)], settings, seed=0)
        model, batch = (
            done.model.part(0).eval().cpu(),
            head.collate(data, np.arange(data.num_items)),
        )
        return model.next_token_loss(batch, model.states(batch)).item()

    assert language_loss(0.5) < language_loss(0.0)


@pytest.mark.parametrize(
    ("family", "representation", "adaptation", "found"),
    [
        ("bert", "bidirectional", "full", "bidirectional"),
        ("gpt2", "causal", "frozen", "frozen"),
    ],
)
def test_an_auxiliary_loss_needs_a_causal_reading(
    family: str,
    representation: str,
    adaptation: str,
    found: str,
    tmp_path: Path,
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    with pytest.raises(ValueError, match=f"auxiliary_lm_weight .* one is {found}"):
        finetune(
            saved(tmp_path, family, representation),
            [TaskData(make_head("classification", tokenizer), inputs(False))],
            Finetune(auxiliary_lm_weight=0.5),
            seed=0,
            adaptation=ADAPTATIONS[adaptation],
        )


def test_both_orders_are_encoded_and_added(tokenizer: PreTrainedTokenizerFast) -> None:
    pairs: list[tuple[str, ...]] = [("the cat", "a dog in rain"), ("rain", "the dog saw")]
    there = Examples(pairs, np.zeros(2, np.int64))
    back = Examples([(b, a) for a, b in pairs], np.zeros(2, np.int64))
    task = make_task("classification").model_copy(update={"symmetric": True})
    heads = [
        Classification(
            task, Protocol(max_sequence_length=32, head_dropout=0, both_orders=both), tokenizer
        )
        for both in (True, False)
    ]
    tokens = Tokens(len(tokenizer), 0, 2, 3, pair_format=True)
    for family in ("bert", "gpt2"):
        backbone = build(MODELS[family], SIZE, tokens, FAMILIES[family].representations[0], seed=0)
        model = heads[0].make_model(backbone, ADAPTATIONS["full"]).eval()
        assert isinstance(model, Classifier) and isinstance(model.head, nn.Linear)
        one, other = heads[0].encode(there), heads[0].encode(back)
        assert one.swapped
        assert one.swapped.input_ids.values.tolist() == other.input_ids.values.tolist()
        rows = np.arange(2)
        logits = model(heads[0].collate(one, rows))
        torch.testing.assert_close(logits, model(heads[0].collate(other, rows)))
        single = [heads[1].encode(examples) for examples in (there, back)]
        apart = torch.stack([model(heads[1].collate(data, rows)) for data in single]).sum(0)
        torch.testing.assert_close(logits, apart - model.head.bias)


class Logged(pl.Callback):
    """Keeps what is logged by the end of each update."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        self.rows.append({name: float(x) for name, x in trainer.callback_metrics.items()})


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
@pytest.mark.parametrize("changes", [{}, {"mixout": 0.5}, {"layer_decay": 0.9}])
def test_several_updates_at_once_end_bit_for_bit_as_one_by_one(
    backbone: Path,
    tokenizer: PreTrainedTokenizerFast,
    monkeypatch: pytest.MonkeyPatch,
    precision: Any,
    changes: dict[str, float],
) -> None:
    head, data = make_head("classification", tokenizer), inputs(False)
    settings = Finetune(batch_size=8, epochs=2, **changes)
    done: list[int] = []

    def trained() -> tuple[dict[str, Tensor], Sequence[float]]:
        run = finetune(
            backbone,
            [TaskData(head, data)],
            settings,
            seed=0,
            progress=lambda number, _: done.append(number),
            compute=Compute(precision=precision),
        )
        return run.model.state_dict(), run.losses

    monkeypatch.setattr("harness.finetuning.module.MAX_SECONDS_AT_ONCE", 1e9)
    at_once, losses = trained()
    ends = list(done)
    done.clear()
    monkeypatch.setattr(FinetuningModule, "num_updates_at_once", lambda self, step: 1)
    one_by_one, same_losses = trained()
    assert done == [*range(1, done[-1] + 1)]
    per_epoch = done[-1] // 2
    assert len(ends) < len(done) and {per_epoch, 2 * per_epoch} <= {*ends}
    assert losses == same_losses
    for name, value in one_by_one.items():
        assert torch.equal(at_once[name], value), name


@pytest.mark.parametrize("family", ["bert", "modernbert", "electra", "gpt2", "llama", "t5", "bart"])
def test_an_update_reads_no_values_of_a_gpu(
    tokenizer: PreTrainedTokenizerFast, family: str
) -> None:
    """On torch's meta device, what reads a value fails."""
    head, data = make_head("classification", tokenizer), inputs(False)
    backbone = make(family, FAMILIES[family].representations[0])
    model = MultitaskModel([head.make_model(backbone, ADAPTATIONS["full"])], Multitask())
    loss = partial(multitask_loss, [head], None)
    module = FinetuningModule(model, loss, Finetune(), num_steps=9, seed=0).train()
    batch = head.collate(data, np.arange(8)) | {TASK: torch.tensor(0)}
    assert not batch["attention_mask"].all()
    meta = torch.device("meta")
    (moved,) = module.transfer_batch_to_device([batch], meta, 0)
    for callback in (callbacks := (UnreadTokens(), UnreadMasks())):
        callback.setup()
    try:
        module.to(meta).update_loss(moved, 1).backward()
    finally:
        for callback in callbacks:
            callback.teardown()


def test_updates_and_epochs_are_reported_and_logged(
    backbone: Path, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    head, data = make_head("classification", tokenizer), inputs(False)
    settings = Finetune(batch_size=32, epochs=3)
    epochs: list[int] = []
    ticks: list[tuple[int, int]] = []
    logged, history = Logged(), tmp_path / "history.jsonl"

    def on_epoch(model: MultitaskModel, epoch: int) -> dict[str, float]:
        epochs.append(epoch)
        return {"accuracy": epoch / 4}

    run = finetune(
        backbone,
        [TaskData(head, data)],
        settings,
        seed=0,
        progress=lambda done, total: ticks.append((done, total)),
        on_epoch=on_epoch,
        callbacks=[logged],
        loggers=[HistoryLogger(history)],
    )
    assert epochs == [1, 2, 3]
    assert ticks == [(i + 1, 6) for i in range(6)]
    losses = [row["train/loss"] for row in logged.rows]
    assert len(set(losses)) == 6 and np.mean(losses[-2:]) == pytest.approx(run.losses[0])
    scores = [row.get("holdout/accuracy") for row in logged.rows]
    assert scores == [None, 0.25, 0.25, 0.5, 0.5, 0.75]
    lines = [json.loads(line) for line in history.read_text().splitlines()]
    kept = {line["step"]: line["train/loss"] for line in lines if "train/loss" in line}
    assert kept == pytest.approx(dict(enumerate(losses, 1)))
    epochs_kept = {x["step"]: x["holdout/accuracy"] for x in lines if "holdout/accuracy" in x}
    assert epochs_kept == {2: 0.25, 4: 0.5, 6: 0.75}
    schedule = Schedule(warmup_fraction=settings.warmup_fraction)
    rates = [settings.learning_rate * learning_rate_factor(schedule, i, 6) for i in range(6)]
    assert [x["train/learning_rate"] for x in lines if "train/loss" in x] == pytest.approx(rates)


def test_constant_predictions_have_null_correlation() -> None:
    task = make_task("regression")
    examples = Examples([("",)] * 3, np.array([1.0, 2.0, 3.0]))
    scores = score(task, examples, np.array([2.0, 2.0, 2.0]))
    assert scores == {"pearson": None, "spearman": None}
