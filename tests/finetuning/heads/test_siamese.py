"""Bi-encoder training against its formulas, and its effect on similarities."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads import siamese
from harness.finetuning.heads.embedder import Embedder, PairEmbedder
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.heads.siamese import SIAMESE, Similarity, triplets
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune, predict
from harness.finetuning.task_chain import siamese_problem
from harness.models import FAMILIES, MODELS, Size
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.tasks import TASKS
from harness.tasks.examples import Examples
from harness.tasks.load_examples import load_examples

SIZE = Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32)
PROTOCOL = Protocol(pooling="mean", head_dropout=0, max_sequence_length=32)
FEEDS = {"cosine": "micro-stsb", "dropout_pairs": "micro-sst2", "ranking": "micro-swag"}
"""Objective to task; micro-mnli for others."""
DRAWN = ("encoder", "decoder", "encoder_decoder", "recurrent", "averaging", "static")
"""Kinds of families whose networks are drawn at random."""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    folder = tmp_path_factory.mktemp("tokenizer")
    texts = load_examples(TASKS["micro-mnli"], "train").texts[:200]
    train(Tokenizer(vocab_size=300), (text for pair in texts for text in pair), folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tokenizer: PreTrainedTokenizerFast) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tokens = Tokens(len(tokenizer), pad=0, start=2, end=3, pair_format=True)
    build(MODELS["bert"], SIZE, tokens, "bidirectional", 0).save(folder)
    return folder


@pytest.fixture
def vectors() -> torch.Tensor:
    return torch.randn(12, 16, generator=torch.Generator().manual_seed(0))


def head(kind: str, tokenizer: PreTrainedTokenizerFast) -> TaskHead:
    return SIAMESE[kind](TASKS[FEEDS.get(kind, "micro-mnli")], PROTOCOL, tokenizer)


def test_the_triplet_loss_equals_torch(
    vectors: torch.Tensor, tokenizer: PreTrainedTokenizerFast
) -> None:
    found = head("triplet", tokenizer).loss(vectors, {})
    a, p, n = vectors[::3], vectors[1::3], vectors[2::3]
    torch.testing.assert_close(found, nn.TripletMarginLoss(margin=1.0)(a, p, n))
    by_hand = ((a - p).norm(dim=1) - (a - n).norm(dim=1) + 1).clamp(min=0).mean()
    torch.testing.assert_close(found, by_hand, rtol=1e-4, atol=1e-4)


def test_the_cosine_loss_by_hand(vectors: torch.Tensor, tokenizer: PreTrainedTokenizerFast) -> None:
    scores = torch.linspace(0, 5, 6, dtype=torch.float64)
    found = head("cosine", tokenizer).loss(vectors, {"labels": scores})
    u, v = vectors[::2], vectors[1::2]
    cosine = (u * v).sum(1) / (u.norm(dim=1) * v.norm(dim=1))
    torch.testing.assert_close(found, (cosine - scores.float() / 5).square().mean())


def _by_hand(anchors: np.ndarray, candidates: np.ndarray) -> float:
    """Gao et al. 2021, equations 4 and 5, one logarithm at a time."""
    losses = []
    for number, anchor in enumerate(anchors):
        norms = np.linalg.norm(candidates, axis=1) * np.linalg.norm(anchor)
        weights = np.exp(candidates @ anchor / norms / 0.05)
        losses.append(-np.log(weights[number] / weights.sum()))
    return float(np.mean(losses))


def test_contrastive_losses_by_hand(
    vectors: torch.Tensor, tokenizer: PreTrainedTokenizerFast
) -> None:
    rows = vectors.double().numpy()
    supervised = _by_hand(rows[::3], np.concatenate([rows[1::3], rows[2::3]]))
    found = head("contrastive", tokenizer).loss(vectors, {})
    assert float(found) == pytest.approx(supervised, rel=1e-4)
    found = head("dropout_pairs", tokenizer).loss(vectors, {})
    assert float(found) == pytest.approx(_by_hand(rows[::2], rows[1::2]), rel=1e-4)


def test_dropout_gives_two_views_of_each_distinct_text(
    folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    made = head("dropout_pairs", tokenizer)
    examples = Examples([("a b",), ("c d e",), ("a b",), ("f",)], np.zeros(4, dtype=np.int64))
    data = made.encode(examples)
    assert data.num_items == 3
    batch = made.collate(data, np.arange(3))
    assert torch.equal(batch["input_ids"][::2], batch["input_ids"][1::2])
    model = made.make_model(load(folder), ADAPTATIONS["full"])
    assert not model.training
    torch.manual_seed(0)
    views = model.train()(batch).view(3, 2, -1)
    assert not torch.isclose(views[:, 0], views[:, 1]).all(-1).any()
    torch.manual_seed(0)
    assert torch.equal(model(batch).view(3, 2, -1), views)


def test_dropout_pairs_need_dropout(tokenizer: PreTrainedTokenizerFast) -> None:
    tokens = Tokens(len(tokenizer), pad=0, start=2, end=3, pair_format=True)
    still = MODELS["bert"].model_copy(update={"dropout": 0.0, "attention_dropout": 0.0})
    backbone = build(still, SIZE, tokens, "bidirectional", 0)
    with pytest.raises(ValueError, match="needs a network with dropout, but two passes of this"):
        head("dropout_pairs", tokenizer).make_model(backbone, ADAPTATIONS["full"])


@pytest.mark.parametrize("family", [name for name, one in FAMILIES.items() if one.kind in DRAWN])
def test_families_without_dropout(family: str, tokenizer: PreTrainedTokenizerFast) -> None:
    """What the plan refuses is what a pass shows."""
    tokens = Tokens(len(tokenizer), pad=0, start=2, end=3, pair_format=True)
    for rates in ((0.1, 0.0), (0.0, 0.1)):
        rate = dict(zip(("dropout", "attention_dropout"), rates, strict=True))
        model = MODELS[family].model_copy(update=rate)
        size = SIZE.model_copy(update={"intermediate_size": 64})  # GPT's must be 4 x hidden_size
        backbone = build(model, size, tokens, model.facts.representations[0], 0)
        embedder = Embedder(backbone, 1, PROTOCOL)
        assert siamese._has_dropout(embedder) == model.has_dropout, rate


def test_scores_of_another_scale_are_refused(tokenizer: PreTrainedTokenizerFast) -> None:
    examples = load_examples(TASKS["micro-stsb"], "train").head(4)
    made = head("cosine", tokenizer)
    assert made.encode(examples).num_items == 4
    tens = Examples(examples.texts, 2 * examples.labels + 1)
    with pytest.raises(ValueError, match="values from 0 to 5, but those of micro-stsb are"):
        made.encode(tens)


def test_classes_are_predicted_from_both_vectors_and_their_difference(
    folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    made = head("softmax", tokenizer)
    examples = load_examples(TASKS["micro-mnli"], "train").head(3)
    model = made.make_model(load(folder), ADAPTATIONS["full"])
    assert isinstance(model, PairEmbedder) and isinstance(model.head, nn.Linear)
    batch = made.collate(made.encode(examples), np.arange(3))
    model.eval()
    alone = Similarity(TASKS["micro-sts"], PROTOCOL, tokenizer)
    embedder = alone.make_model(load(folder), ADAPTATIONS["full"]).eval()
    vectors = embedder(batch)
    rows = [
        torch.cat([u, v, (u - v).abs()]) for u, v in zip(vectors[::2], vectors[1::2], strict=True)
    ]
    by_hand = torch.stack(rows) @ model.head.weight.T + model.head.bias
    torch.testing.assert_close(model(batch), by_hand)
    expected = nn.CrossEntropyLoss()(by_hand, batch["labels"])
    torch.testing.assert_close(made.loss(model(batch), batch), expected)
    assert made.decode(by_hand, batch) == by_hand.argmax(1).tolist()


def test_the_classifier_of_infersent_by_hand(
    folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    """(u, v, |u - v|, u * v), 512 units with tanh, and three classes."""
    made = head("infersent", tokenizer)
    examples = load_examples(TASKS["micro-mnli"], "train").head(5)
    model = made.make_model(load(folder), ADAPTATIONS["full"]).eval()
    batch = made.collate(made.encode(examples), np.arange(5))
    alone = Similarity(TASKS["micro-sts"], PROTOCOL, tokenizer)
    vectors = alone.make_model(load(folder), ADAPTATIONS["full"]).eval()(batch).detach().numpy()
    u, v = vectors[::2], vectors[1::2]
    features = np.concatenate([u, v, np.abs(u - v), u * v], 1)
    weights = [w.detach().numpy() for w in model.get_submodule("head").parameters()]
    assert [w.shape for w in weights] == [(512, 64), (512,), (3, 512), (3,)]
    hidden = np.tanh(features @ weights[0].T + weights[1])
    by_hand = torch.from_numpy(hidden @ weights[2].T + weights[3])
    found = model(batch)
    torch.testing.assert_close(found, by_hand)
    expected = nn.CrossEntropyLoss()(by_hand, batch["labels"])
    torch.testing.assert_close(made.loss(found, batch), expected)


def test_the_ranking_loss_by_hand(
    vectors: torch.Tensor, tokenizer: PreTrainedTokenizerFast
) -> None:
    """Responses 0 and 3 are equal: neither is a wrong answer to the other's context."""
    numbers = torch.tensor([7, 1, 2, 7, 4, 5])
    x, y = vectors[::2].double().numpy(), vectors[1::2].double().numpy()
    losses = []
    for i in range(6):
        wrong = [j for j in range(6) if j == i or numbers[j] != numbers[i]]
        weights = np.exp(x[i] @ y.T)
        losses.append(-np.log(weights[i] / weights[wrong].sum()))
    found = head("ranking", tokenizer).loss(vectors, {"labels": numbers})
    assert float(found) == pytest.approx(float(np.mean(losses)), rel=1e-4)
    distinct = head("ranking", tokenizer).loss(vectors, {"labels": torch.arange(6)})
    assert float(distinct) > float(found)


def test_contexts_are_ranked_with_their_right_choices(tokenizer: PreTrainedTokenizerFast) -> None:
    made = head("ranking", tokenizer)
    examples = load_examples(TASKS["micro-swag"], "train").head(40)
    data = made.encode(examples)
    assert examples.choices is not None
    right = [
        choices[int(label)]
        for choices, label in zip(examples.choices, examples.labels, strict=True)
    ]
    batch = made.collate(data, np.array([3, 8]))
    tokens, real = batch["input_ids"], batch["attention_mask"].bool()
    rows = [ids[used] for ids, used in zip(tokens, real, strict=True)]
    texts = [examples.texts[3][0], right[3], examples.texts[8][0], right[8]]
    assert [row.tolist() for row in rows] == tokenizer(texts)["input_ids"]
    assert len(set(right)) < 40  # some responses are equal, and have equal labels
    assert isinstance(data.targets, np.ndarray)
    pairs = {(text, int(number)) for text, number in zip(right, data.targets, strict=True)}
    assert len(pairs) == len(set(right)) == len({*data.targets.tolist()})


def test_ranking_finds_the_next_sentence(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """Of the training pairs; the same for one seed."""
    made = head("ranking", tokenizer)
    data = made.encode(load_examples(made.task, "train").head(32))
    settings = Finetune(learning_rate=1e-2, epochs=12, batch_size=16)
    runs = [finetune(folder, [TaskData(made, data)], settings, seed=0) for _ in range(2)]
    assert runs[0].losses == runs[1].losses
    batch = made.collate(data, np.arange(data.num_items))
    models = made.make_model(load(folder), ADAPTATIONS["full"]), runs[0].model.part(0)
    with torch.no_grad():
        losses = [float(made.loss(model.eval()(batch), batch)) for model in models]
    assert losses[1] < losses[0] - 0.5


def examples_of(*rows: tuple[str, str, int]) -> Examples:
    return Examples([(a, b) for a, b, _ in rows], np.array([label for *_, label in rows]))


def test_triplets_take_the_anchors_own_contradiction_first() -> None:
    labels = TASKS["micro-mnli"].labels
    examples = examples_of(
        ("a", "follows", 0), ("b", "no", 2), ("a", "denied", 2), ("c", "so", 0), ("d", "maybe", 1)
    )
    assert triplets(examples, labels) == [("a", "follows", "denied"), ("c", "so", "denied")]
    with pytest.raises(ValueError, match="pairs labelled contradiction, but there are none"):
        triplets(examples_of(("a", "b", 0)), labels)


@pytest.mark.parametrize("kind", sorted(SIAMESE))
def test_every_kind_lowers_its_loss(
    kind: str, folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    made = head(kind, tokenizer)
    data = made.encode(load_examples(made.task, "train").head(48))
    settings = [Finetune(learning_rate=1e-2, epochs=epochs, batch_size=8) for epochs in (1, 6)]
    runs = [finetune(folder, [TaskData(made, data)], one, seed=0) for one in settings]
    assert runs[1].losses[0] < runs[0].losses[0]


def test_cosines_follow_the_scores(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """On the training pairs."""
    made = head("cosine", tokenizer)
    examples = load_examples(made.task, "train").head(64)
    data = made.encode(examples)
    settings = Finetune(learning_rate=1e-2, epochs=8, batch_size=8)
    run = finetune(folder, [TaskData(made, data)], settings, seed=0)
    similarity = Similarity(TASKS["micro-sts"], PROTOCOL, tokenizer)
    found = predict(run.model.part(0), similarity, similarity.encode(examples), examples)
    assert np.corrcoef(found, examples.labels)[0, 1] > 0.8


@pytest.mark.parametrize("kind", ["contrastive", "dropout_pairs"])
def test_contrastive_training_separates_texts(
    kind: str, folder: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    """A text and its entailed text come closer, or other texts move away; the same for one seed."""
    made = head(kind, tokenizer)
    made.task = TASKS["micro-mnli"]
    examples = load_examples(made.task, "train").head(48)
    tasks = [TaskData(made, made.encode(examples))]
    settings = Finetune(learning_rate=1e-2, epochs=6, batch_size=8)
    runs = [finetune(folder, tasks, settings, seed=0) for _ in range(2)]
    assert runs[0].losses == runs[1].losses
    data = head("contrastive", tokenizer).encode(examples)
    batch = made.collate(data, np.arange(data.num_items))
    before = _margin(made.make_model(load(folder), ADAPTATIONS["full"]), batch)
    assert _margin(runs[0].model.part(0), batch) > before + 0.1


@torch.no_grad()
def _margin(model: nn.Module, batch: dict[str, torch.Tensor]) -> float:
    """Mean cosine of anchors with their positives over that with those of other anchors."""
    anchor, positive, _ = (
        nn.functional.normalize(model.eval()(batch), dim=-1)
        .view(len(batch["input_ids"]) // 3, 3, -1)
        .unbind(1)
    )
    cosines = anchor @ positive.T
    others = ~torch.eye(len(cosines), dtype=torch.bool)
    return float(cosines.diagonal().mean() - cosines[others].mean())


@pytest.mark.parametrize(
    ("task", "kind", "message"),
    [
        ("micro-mnli", "cosine", "needs a task of values"),
        ("micro-stsb", "softmax", "needs a task of classes"),
        ("micro-rte", "triplet", "needs the labels entailment and contradiction"),
        ("micro-rte", "contrastive", "needs the labels entailment and contradiction"),
        ("micro-ner", "dropout_pairs", "needs texts, but those of micro-ner are lists of words"),
        ("micro-sst2", "softmax", "needs a pair of texts"),
        ("micro-stsb", "infersent", "needs a task of classes"),
        ("micro-mnli", "ranking", "needs a multiple-choice task, but micro-mnli is of classif"),
        ("micro-swag", "softmax", "needs a pair of texts"),
        ("micro-ner", "softmax", "needs a pair of texts"),
    ],
)
def test_unsupported_tasks_are_refused(task: str, kind: str, message: str) -> None:
    assert message in siamese_problem(TASKS[task], kind)  # type: ignore[arg-type]
    assert not siamese_problem(TASKS["micro-mnli"], "triplet")
