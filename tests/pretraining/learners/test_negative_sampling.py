"""Negative sampling against loops of Mikolov et al. 2013b, equation 4; what skip-gram learns."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from harness.data.corpora.token_stream import TokenStream
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.experiment.recipe_defaults import resolve_pretrain
from harness.models import Architecture, Size
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.static_embeddings import StaticVectors
from harness.pretraining.learners.static_vectors import SampledTokens
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import pretrain
from tests.token_streams import write_streams

SIZE = Size(num_layers=1, hidden_size=8, num_heads=1, intermediate_size=8)
PAIRS = [(1, 6), (2, 5), (2, 7), (3, 6)]
"""(position, target) in the text 5 6 7."""
BATCH = {
    "input_ids": torch.tensor([[1, 5, 6, 7, 2]]),
    "positions": torch.tensor([position for position, _ in PAIRS]),
    "targets": torch.tensor([target for _, target in PAIRS]),
    "negatives": torch.tensor([[8, 9], [5, 8], [20, 21], [6, 6]]),
}


def learner(representation: str) -> SampledTokens:
    wide = Architecture(family="static", context_size=1, initializer_range=0.8)
    return SampledTokens(build(wide, SIZE, Tokens(30, 0, 1, 2), representation, seed=0))


def vectors(made: SampledTokens) -> tuple[np.ndarray, np.ndarray]:
    """Input and output vectors [V, H]."""
    network = made.backbone.network
    assert isinstance(network, StaticVectors)
    read, written = network.embeddings.weight, network.output.weight
    return read.detach().double().numpy(), written.detach().double().numpy()


def equation_4(v: np.ndarray, u: np.ndarray, target: int, sampled: list[int]) -> float:
    """- log sigmoid(u_target v) - sum log sigmoid(- u_i v)."""
    loss = math.log(1 + math.exp(-float(u[target] @ v)))
    for token in sampled:
        loss += math.log(1 + math.exp(float(u[token] @ v)))
    return loss


@pytest.mark.parametrize("representation", ["skipgram", "cbow"])
def test_the_loss_is_equation_4(representation: str) -> None:
    made = learner(representation)
    read, written = vectors(made)
    row, expected = BATCH["input_ids"][0].tolist(), 0.0
    for (position, target), sampled in zip(PAIRS, BATCH["negatives"].tolist(), strict=True):
        v = read[row[position]]
        if representation == "cbow":
            near = (row[position - 1], row[position + 1])
            v = np.mean([read[token] for token in near if token > 2], axis=0)
        expected += equation_4(v, written, target, sampled)
    assert float(made(BATCH)[0]["sampled"].detach()) == pytest.approx(expected, rel=1e-5)


def test_gradients_of_one_pair() -> None:
    """By hand: (sigmoid(u v) - 1) of the target's products, sigmoid(u_i v) of the samples'."""
    made = learner("skipgram")
    batch = {name: array[:1] for name, array in BATCH.items()}
    made(batch)[0]["sampled"].backward()
    network = made.backbone.network
    assert isinstance(network, StaticVectors)
    read, written = vectors(made)
    v, tokens = read[5], [6, 8, 9]
    error = 1 / (1 + np.exp(-written[tokens] @ v)) - np.array([1, 0, 0])
    of_inputs, of_outputs = network.embeddings.weight.grad, network.output.weight.grad
    assert of_inputs is not None and of_outputs is not None
    np.testing.assert_allclose(of_inputs[5], error @ written[tokens], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(of_outputs[tokens], np.outer(error, v), rtol=1e-4, atol=1e-6)
    assert of_inputs.abs().sum(1).nonzero().flatten().tolist() == [5]
    assert of_outputs.abs().sum(1).nonzero().flatten().tolist() == tokens


def test_a_window_of_cbow_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"context_size is that of CBOW, .* objective\.transform\.s"
    ):
        resolve_pretrain({"recipe": "skipgram", "model": {"context_size": 3}})


TOPICS = ("cat dog cow hen pig", "red blue pink gray teal")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with `tokenizer` and `tokens` of sentences of words of one topic each."""
    folder, rng = tmp_path_factory.mktemp("topics"), np.random.default_rng(0)
    documents = [
        [" ".join(rng.choice(TOPICS[n % 2].split(), 8)) for _ in range(4)] for n in range(200)
    ]
    words = Tokenizer(algorithm="word", vocab_size=64)
    train(words, (one for document in documents for one in document), folder / "tokenizer")
    write_streams(documents, folder / "tokenizer", folder / "tokens", 0.1)
    return folder


def run(recipe: str, text: Path, out: Path, **changes: Any) -> dict[str, float]:
    fields = {
        "recipe": recipe,
        "tokenizer": {"algorithm": "word", "vocab_size": 64},
        "packing": {"format": "doc_sentences"},
        "size": {"num_layers": 1, "hidden_size": 16, "num_heads": 1, "intermediate_size": 8},
        "phases": [{"fraction": 1, "sequence_length": 32}],
        "optimizer": {"learning_rate": 0.02},
        "batch_size": 4,
        "budget": {"steps": 150},
        **changes,
    }
    spec: Pretrain = resolve_pretrain(fields)
    (out / "work").mkdir(parents=True)
    return pretrain(spec, text / "tokens", text / "tokenizer", out, out / "work", 0)


SAMPLED = OBJECTIVES["cbow_negative_sampling"].model_dump()
RUNS = [("skipgram", {}), ("cbow", {}), ("cbow", {"objective": SAMPLED})]


@pytest.mark.parametrize(("recipe", "changes"), RUNS)
def test_words_of_a_topic_are_nearest(
    recipe: str, changes: dict[str, Any], text: Path, tmp_path: Path
) -> None:
    figures = run(recipe, text, tmp_path, **changes)
    assert math.isfinite(figures["validation_loss"])
    network = load(tmp_path / "model").network
    assert isinstance(network, StaticVectors)
    ids = Vocabulary.load(text / "tokenizer").words
    words = [word for topic in TOPICS for word in topic.split()]
    found = F.normalize(network.embeddings.weight[[ids.index(word) for word in words]], dim=1)
    similarity = (found @ found.T).fill_diagonal_(-1)
    assert (similarity.argmax(1) // 5).tolist() == [0] * 5 + [1] * 5


def test_a_run_is_deterministic(text: Path, tmp_path: Path) -> None:
    one, two = (
        run("skipgram", text, tmp_path / name, budget={"steps": 5}) for name in ("one", "two")
    )
    assert one["train_loss"] == two["train_loss"]
    assert one["validation_loss"] == two["validation_loss"]


def test_the_first_held_out_loss_is_that_of_guessing(text: Path, tmp_path: Path) -> None:
    """log 2 for each decision, as the vectors are near 0."""
    figures = run("skipgram", text, tmp_path, budget={"steps": 1})
    assert figures["validation_loss"] == pytest.approx(math.log(2), rel=0.01)
    assert TokenStream.open(text / "tokens" / "validation").num_tokens
