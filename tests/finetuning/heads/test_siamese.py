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
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.heads.siamese import SIAMESE, PairEmbedder, Similarity, triplets
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune, predict
from harness.finetuning.task_chain import siamese_problem
from harness.models import MODELS, Size
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.tasks import TASKS
from harness.tasks.examples import Examples
from harness.tasks.load_examples import load_examples

SIZE = Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32)
PROTOCOL = Protocol(pooling="mean", head_dropout=0, max_sequence_length=32)
FEEDS = {"softmax": "micro-mnli", "cosine": "micro-stsb", "triplet": "micro-mnli"}


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
    return SIAMESE[kind](TASKS[FEEDS[kind]], PROTOCOL, tokenizer)


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
    assert isinstance(model, PairEmbedder)
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


@pytest.mark.parametrize(
    ("task", "kind", "message"),
    [
        ("micro-mnli", "cosine", "needs a task of values"),
        ("micro-stsb", "softmax", "needs a task of classes"),
        ("micro-rte", "triplet", "needs the labels entailment and contradiction"),
        ("micro-sst2", "softmax", "needs a pair of texts"),
        ("micro-ner", "softmax", "needs a pair of texts"),
    ],
)
def test_unsupported_tasks_are_refused(task: str, kind: str, message: str) -> None:
    assert message in siamese_problem(TASKS[task], kind)  # type: ignore[arg-type]
    assert not siamese_problem(TASKS["micro-mnli"], "triplet")
