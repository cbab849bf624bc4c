"""Fine-tuning: pooling by hand, deterministic, learns; every family under one protocol."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import GPT2LMHeadModel

from harness.adaptation import Finetune, Protocol
from harness.adaptation.classifier import Classifier
from harness.adaptation.inputs import Encoded, TrainBatches, collate, encode
from harness.adaptation.pooling import ScalarMix, pool
from harness.finetuning import finetune, predict, score
from harness.models import FAMILIES, MODELS, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.tasks import MicroworldData, Task
from harness.tasks.loading import Examples
from harness.tokenizers import Tokenizer
from harness.tokenizers.training import train

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


def make(family: str, representation: str, seed: int = 0) -> Backbone:
    wide = {"initializer_range": 0.1, "max_position": 64}
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


def examples(regression: bool, n: int = 64) -> Encoded:
    """Whether (or how often) token 5 occurs among tokens 5..9, in inputs of different lengths."""
    dice = np.random.default_rng(0)
    ids = [[2, *dice.integers(5, 10, dice.integers(2, 6)).tolist(), 3] for _ in range(n)]
    counts = np.array([row.count(5) for row in ids])
    labels = counts.astype(float) if regression else (counts > 0).astype(np.int64)
    return Encoded(ids, [[0] * len(row) for row in ids], labels, 0.0)


POOLED = {
    "cls": [1.0, -4.0],
    "last": [3.0, -5.0],
    "ends": [3.0, -4.0],
    "mean": [2.0, -4.5],
    "max": [3.0, -4.0],
}


@pytest.mark.parametrize("pooling", POOLED)
def test_pooling_ignores_padding(pooling: str) -> None:
    states = torch.tensor([[[1.0, -4.0], [3.0, -5.0], [99.0, 99.0]]])
    assert pool(states, torch.tensor([[1, 1, 0]]), pooling).tolist() == [POOLED[pooling]]


@pytest.mark.parametrize("reading", ["causal", "encoder_decoder", "window"])
def test_a_first_token_that_has_seen_nothing_is_not_pooled(reading: str) -> None:
    family = {"causal": "gpt2", "encoder_decoder": "bart", "window": "static"}[reading]
    with pytest.raises(ValueError, match=f"first token.*read {reading}; set it to native"):
        Classifier(make(family, reading), 2, Protocol(pooling="cls"))


def test_a_mix_of_layers_by_hand() -> None:
    layers = [torch.full((1, 2, 3), value) for value in (1.0, 2.0, 6.0)]
    mix = ScalarMix(3)
    torch.testing.assert_close(mix(layers), torch.full((1, 2, 3), 3.0))
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([0.0, 1.0, 2.0]))
        mix.gamma.fill_(2.0)
    shares = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    torch.testing.assert_close(mix(layers)[0, 0, 0].item(), 2 * float(shares @ [1.0, 2.0, 6.0]))


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
    before = dict(load(backbone).network.base_model.named_parameters())
    after = dict(done.module.model.backbone.network.base_model.named_parameters())
    seen = torch.unique(torch.tensor([t for row in data.input_ids for t in row]))
    for name, old in before.items():
        rows = seen if name == "embeddings.word_embeddings.weight" else slice(0, 1)
        if "position" in name or name.endswith("key.bias"):  # the key bias has no effect on softmax
            continue
        assert not torch.equal(old[rows], after[name][rows].cpu()), name


def batch_of(rows: list[list[int]]) -> dict[str, Tensor]:
    data = Encoded(rows, [[0] * len(row) for row in rows], np.zeros(len(rows), np.int64), 0.0)
    return collate(data, np.arange(len(rows)), PAD)


ROWS = [[2, 7, 5, 3], [2, 5, 9, 6, 8, 7, 3], [2, 3]]


@pytest.mark.parametrize(("family", "representation"), NETWORKS)
@pytest.mark.parametrize("adaptation", ["full", "frozen"])
def test_padding_changes_no_prediction(family: str, representation: str, adaptation: str) -> None:
    torch.manual_seed(0)
    model = Classifier(make(family, representation), 3, Protocol(), adaptation).eval()
    with torch.no_grad():
        padded = model(batch_of(ROWS))
        alone = torch.cat([model(batch_of([row])) for row in ROWS])
    torch.testing.assert_close(padded, alone, atol=1e-5, rtol=1e-4)
    if representation != "window":
        assert not torch.allclose(padded[0], padded[1], atol=1e-3)


@pytest.mark.parametrize(("family", "representation"), NETWORKS)
def test_every_family_is_fine_tuned(family: str, representation: str, tmp_path: Path) -> None:
    folder = saved(tmp_path, family, representation)
    task, data = make_task("classification"), examples(False)
    settings = Finetune(learning_rate=1e-3, batch_size=16, epochs=1)
    for adaptation in ("full", "frozen"):
        done = finetune(
            folder,
            data,
            task,
            Protocol(),
            settings,
            pad_token_id=PAD,
            seed=0,
            adaptation=adaptation,
        )
        assert np.isfinite(done.train_loss)
        assert set(predict(done.module.model, data, PAD)) <= {0.0, 1.0}
        before = load(folder).state_dict()
        after = done.module.model.backbone.state_dict()
        same = [torch.equal(value, after[name].cpu()) for name, value in before.items()]
        assert all(same) == (adaptation == "frozen")
        if adaptation == "frozen":
            assert done.module.model.mix is not None
            assert len(done.module.model.mix.weights) == (1 if family == "static" else 3)
            assert done.module.model.mix.gamma.item() != 1


def test_a_frozen_backbone_has_no_dropout() -> None:
    model = Classifier(make("elmo", "two_way"), 2, Protocol(head_dropout=0), "frozen").train()
    batch = batch_of(ROWS)
    assert torch.equal(model(batch), model(batch))
    assert not model.backbone.training and model.head.training


def test_a_decoder_is_pooled_where_its_input_ends() -> None:
    model = Classifier(make("gpt2", "causal"), 2, Protocol(head_dropout=0)).eval()
    for row, logits in zip(ROWS, model(batch_of(ROWS)), strict=True):
        states = model.backbone(torch.tensor([row])).last_hidden_state[0, -1]
        torch.testing.assert_close(logits, model.head(states))


def test_an_encoder_decoder_reads_its_input_twice() -> None:
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
    mine = model.next_token_loss(batch, [model.states(batch)])
    network = backbone.network
    assert isinstance(network, GPT2LMHeadModel)
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    theirs = network(batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels)
    torch.testing.assert_close(mine, theirs.loss)


def test_the_auxiliary_loss_is_trained_on(tmp_path: Path) -> None:
    folder = saved(tmp_path, "gpt2", "causal")
    task, data = make_task("classification"), examples(False)

    def language_loss(weight: float) -> float:
        settings = Finetune(learning_rate=1e-3, batch_size=16, epochs=2, auxiliary_lm_weight=weight)
        done = finetune(folder, data, task, Protocol(), settings, pad_token_id=PAD, seed=0)
        model, batch = done.module.model.eval().cpu(), batch_of(data.input_ids)
        return model.next_token_loss(batch, [model.states(batch)]).item()

    assert language_loss(0.5) < language_loss(0.0)


@pytest.mark.parametrize(
    ("family", "representation", "adaptation", "found"),
    [
        ("bert", "bidirectional", "full", "one read bidirectional"),
        ("gpt2", "causal", "frozen", "a frozen model"),
    ],
)
def test_an_auxiliary_loss_needs_a_causal_reading(
    family: str, representation: str, adaptation: str, found: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"auxiliary_lm_weight .* but this is {found}"):
        finetune(
            saved(tmp_path, family, representation),
            examples(False),
            make_task("classification"),
            Protocol(),
            Finetune(auxiliary_lm_weight=0.5),
            pad_token_id=PAD,
            seed=0,
            adaptation=adaptation,
        )


def test_both_orders_are_read_and_added(tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    train(Tokenizer(vocab_size=80), iter(["the cat saw a dog in rain"] * 9), tmp_path)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    pairs = [("the cat", "a dog in rain"), ("rain", "the dog saw")]
    there = Examples([*pairs], np.zeros(2, np.int64))
    back = Examples([(b, a) for a, b in pairs], np.zeros(2, np.int64))
    tokens = Tokens(len(tokenizer), 0, 2, 3, pair_format=True)
    for family in ("bert", "gpt2"):
        backbone = build(MODELS[family], SIZE, tokens, FAMILIES[family].representations[0], seed=0)
        model = Classifier(backbone, 2, Protocol(head_dropout=0)).eval()
        one = encode(tokenizer, there, 32, both_orders=True)
        other = encode(tokenizer, back, 32, both_orders=True)
        assert one.swapped and one.swapped.input_ids == other.input_ids
        rows = np.arange(2)
        logits = model(collate(one, rows, 0))
        torch.testing.assert_close(logits, model(collate(other, rows, 0)))
        single = [encode(tokenizer, examples, 32) for examples in (there, back)]
        apart = torch.stack([model(collate(data, rows, 0)) for data in single]).sum(0)
        torch.testing.assert_close(logits, apart - model.head.bias)


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


def test_a_batch_of_one_is_standardised_by_what_came_before() -> None:
    from harness.adaptation.classifier import Standardise

    torch.manual_seed(0)
    layer = Standardise(4, affine=False).train()
    for _ in range(200):
        layer(5 + 2 * torch.randn(32, 4))
    one = layer(torch.full((1, 4), 7.0))
    torch.testing.assert_close(one, torch.ones(1, 4), atol=0.2, rtol=0)
