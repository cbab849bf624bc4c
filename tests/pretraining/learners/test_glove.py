"""GloVe against Pennington et al. 2014, equation 8, by hand and by autograd; what it learns."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from harness.data.corpora.load_corpus import read_documents
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.corpora.token_stream import TokenStream
from harness.data.microworld.lexicon import NOUNS
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.models import Architecture, Size
from harness.models.blueprints import Tokens
from harness.models.build import build, load
from harness.models.static_embeddings import StaticVectors
from harness.pretraining.learners.static_vectors import GloVe
from harness.pretraining.objectives.cooccurrence import Cells, cooccurrences
from harness.pretraining.objectives.loader import to_tensors
from harness.pretraining.objectives.outputs import Cooccurrence
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.optimizer_kinds import adagrad
from harness.pretraining.steps import training_flops_per_step
from tests.pretraining.learners.test_negative_sampling import TOPICS, run, text
from tests.pretraining.objectives.test_conformance import maker, spec_of
from tests.pretraining.objectives.test_cooccurrence import GLOVE
from tests.token_streams import write_streams

__all__ = ["text"]
SIZE = Size(num_layers=1, hidden_size=8, num_heads=1, intermediate_size=8)
CELLS = [(5, 6, 3.0), (6, 5, 3.0), (7, 7, 100.0), (5, 9, 250.0), (9, 5, 0.1)]
"""(word, context, count)."""


def learner(vocab_size: int = 12, width: int = 8, **settings: float) -> GloVe:
    wide = Architecture(family="static", initializer_range=0.8)
    size = SIZE.model_copy(update={"hidden_size": width})
    made = GloVe(
        build(wide, size, Tokens(vocab_size, 0, 1, 2), "skipgram", seed=0), Cooccurrence(**settings)
    )
    for bias in (made.word_biases, made.context_biases):
        torch.nn.init.normal_(bias, generator=torch.Generator().manual_seed(len(bias)))
    return made.double()


def weights(made: GloVe) -> list[torch.Tensor]:
    """w [V, H], w~ [V, H], b [V] and b~ [V]."""
    network = made.backbone.network
    assert isinstance(network, StaticVectors)
    return [network.embeddings.weight, network.output.weight, made.word_biases, made.context_biases]


def batch() -> dict[str, torch.Tensor]:
    """CELLS as a batch of one row, in float64."""
    words, contexts, counts = (np.array(column) for column in zip(*CELLS, strict=True))
    made = Cells(words, contexts, counts).batch(np.arange(len(CELLS))[None])
    return {**to_tensors(made), "counts": torch.tensor(counts)}


@pytest.mark.parametrize(("x_max", "alpha"), [(100, 0.75), (10, 0.5), (1000, 0)])
def test_the_loss_is_equation_8(x_max: float, alpha: float) -> None:
    made = learner(x_max=x_max, alpha=alpha)
    w, c, b, d = (one.detach().numpy() for one in weights(made))
    expected = 0.0
    for i, j, x in CELLS:
        f = (x / x_max) ** alpha if x < x_max else 1.0
        expected += f * (float(w[i] @ c[j]) + b[i] + d[j] - math.log(x)) ** 2
    assert float(made(batch())[0]["cooccurrence"].detach()) == pytest.approx(expected, rel=1e-12)


def test_gradients_by_hand() -> None:
    """Of each cell, 2 f (w c + b + d - log x) times c, w, 1 and 1."""
    made = learner()
    made(batch())[0]["cooccurrence"].backward()
    w, c, b, d = (one.detach().numpy() for one in weights(made))
    expected = [np.zeros_like(one) for one in (w, c, b, d)]
    for i, j, x in CELLS:
        error = w[i] @ c[j] + b[i] + d[j] - math.log(x)
        slope = 2 * min(1.0, (x / 100) ** 0.75) * error
        for gradient, token, part in zip(expected, (i, j, i, j), (c[j], w[i], 1, 1), strict=True):
            gradient[token] += slope * part
    for one, gradient in zip(weights(made), expected, strict=True):
        assert one.grad is not None
        np.testing.assert_allclose(one.grad.numpy(), gradient, rtol=1e-10, atol=1e-12)


def test_autograd_agrees_with_differences() -> None:
    made = learner()
    parts = weights(made)

    def loss(*_: torch.Tensor) -> torch.Tensor:
        return made(batch())[0]["cooccurrence"]

    assert torch.autograd.gradcheck(loss, parts)


def test_all_counts_are_fitted_on_a_tiny_text() -> None:
    """With as many dimensions as words, w c + b + d approaches log X."""
    rng = np.random.default_rng(0)
    tokens = rng.integers(4, 12, 400).astype(np.uint16)
    stream = TokenStream(tokens, np.array([0, 400]), np.array([0, 1]))
    counts = cooccurrences(stream, np.arange(12) < 4, 5).tocoo()
    cells = Cells(counts.row, counts.col, counts.data)
    made = learner(width=12)
    every = to_tensors(cells.batch(np.arange(len(cells))[None]))
    groups = [{"params": list(made.parameters()), "lr": 0.5, "weight_decay": 0.0}]
    optimizer = adagrad(groups, Optimizer(kind="adagrad", initial_accumulator=0.0))
    for _ in range(1500):
        optimizer.zero_grad()
        made(every)[0]["cooccurrence"].backward()
        optimizer.step()
    with torch.no_grad():
        found = made.log_counts(every)
    np.testing.assert_allclose(found.numpy(), np.log(every["counts"].numpy()), atol=0.02)


def test_an_update_costs_what_is_counted() -> None:
    """A product of two vectors for each cell, forward and twice backward."""
    spec = spec_of(GLOVE)
    made, step = learner(500, spec.size.hidden_size).float(), maker("glove").batch(0)
    with FlopCounterMode(display=False) as counter:
        made(to_tensors(step))[0]["cooccurrence"].backward()
    cells = spec.batch_size * spec.phases[0].sequence_length
    assert counter.get_total_flops() == training_flops_per_step(spec) == 6 * cells * 32


def test_sums_of_both_vectors_are_saved(tmp_path: Path) -> None:
    made = learner().float()
    w, c, *_ = (one.detach().clone() for one in weights(made))
    made.save(tmp_path)
    saved = load(tmp_path).network
    assert isinstance(saved, StaticVectors)
    assert torch.equal(saved.embeddings.weight, w + c)
    assert torch.equal(saved(torch.tensor([[5, 9]])).last_hidden_state[0], (w + c)[[5, 9]])
    assert torch.equal(weights(made)[0], w), "training goes on with its own"


GLOVE_RUN: dict[str, Any] = {"packing": {"format": "full_sentences"}, "batch_size": 1}


def test_words_of_a_topic_are_nearest(text: Path, tmp_path: Path) -> None:
    """The two topics never meet, so that words of one have no count with those of the other;
    words of one co-occur with the same words."""
    figures = run("glove", text, tmp_path, **GLOVE_RUN, objective={"output": {"window": 3}})
    assert figures["train_loss"] < 0.05
    network = load(tmp_path / "model").network
    assert isinstance(network, StaticVectors)
    ids = Vocabulary.load(text / "tokenizer").words
    words = [word for topic in TOPICS for word in topic.split()]
    found = F.normalize(network.embeddings.weight[[ids.index(word) for word in words]], dim=1)
    similarity = (found @ found.T).fill_diagonal_(-1)
    assert (similarity.argmax(1) // 5).tolist() == [0] * 5 + [1] * 5


CORPUS = MicroworldCorpus(num_tokens=60_000)


@pytest.fixture(scope="module")
def microworld(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with `tokenizer` and `tokens` of whole words of the micro-world."""
    folder, documents = tmp_path_factory.mktemp("microworld"), list(read_documents(CORPUS))
    words = Tokenizer(algorithm="word", vocab_size=2_000, lowercase=True)
    train(words, (one for document in documents for one in document), folder / "tokenizer")
    write_streams(documents, folder / "tokenizer", folder / "tokens", 0.1)
    return folder


def test_nouns_of_a_kind_are_nearest(microworld: Path, tmp_path: Path) -> None:
    """In the micro-world, a kind is what a noun does and what is done with it. By chance, the
    nearest noun is of the same kind for one in six."""
    fields = {**GLOVE_RUN, "batch_size": 32, "budget": {"steps": 400}}
    run("glove", microworld, tmp_path, **fields)
    network = load(tmp_path / "model").network
    assert isinstance(network, StaticVectors)
    ids = Vocabulary.load(microworld / "tokenizer").words
    nouns = {
        noun: kind
        for kind, concepts in NOUNS.items()
        for noun in concepts.replace("/", " ").split()
        if noun in ids
    }
    found = F.normalize(network.embeddings.weight[[ids.index(noun) for noun in nouns]], dim=1)
    nearest = (found @ found.T).fill_diagonal_(-1).argmax(1).tolist()
    kinds = list(nouns.values())
    same = [kinds[other] == kind for kind, other in zip(kinds, nearest, strict=True)]
    assert len(same) >= 50 and np.mean(same) > 0.5


def test_a_run_is_deterministic(text: Path, tmp_path: Path) -> None:
    figures, vectors = [], []
    for name in ("one", "two"):
        figures.append(run("glove", text, tmp_path / name, **GLOVE_RUN, budget={"steps": 5}))
        vectors.append(load_file(tmp_path / name / "model/model.safetensors"))
    assert figures[0]["train_loss"] == figures[1]["train_loss"]
    assert all(torch.equal(vectors[0][key], vectors[1][key]) for key in vectors[0])
    assert not any(key.startswith("validation") for key in figures[0]), "no held-out loss"


def test_tokens_of_the_budget_are_counts(text: Path, tmp_path: Path) -> None:
    figures = run("glove", text, tmp_path, **GLOVE_RUN, budget={"tokens": 65})
    assert (figures["steps"], figures["tokens"]) == (3, 96)


def test_a_text_of_unknown_words(text: Path, tmp_path: Path) -> None:
    (tmp_path / "tokens/train").mkdir(parents=True)
    unknown = Vocabulary.load(text / "tokenizer").special.argmax()
    arrays = {"tokens": np.full(99, unknown, np.uint16), "sentences": [0, 99], "documents": [0, 1]}
    for name, array in {**arrays, "bytes": [99]}.items():
        np.save(tmp_path / f"tokens/train/{name}.npy", np.array(array))
    (tmp_path / "tokenizer").symlink_to(text / "tokenizer")
    with pytest.raises(ValueError, match="the text has only 0; use a smaller batch_size or more"):
        run("glove", tmp_path, tmp_path / "run", **GLOVE_RUN)


def test_the_initial_sum_of_adagrad() -> None:
    """A step of rate x g / sqrt(start + g^2)."""
    for start, given in ((1 / 400, None), (0.0, 0.0), (4.0, 4.0)):
        weight = torch.nn.Parameter(torch.tensor([1.0]))
        groups = [{"params": [weight], "lr": 0.1, "weight_decay": 0.0}]
        optimizer = adagrad(groups, Optimizer(kind="adagrad", eps=1e-12, initial_accumulator=given))
        weight.grad = torch.tensor([0.3])
        optimizer.step()
        assert weight.item() == pytest.approx(1 - 0.1 * 0.3 / math.sqrt(start + 0.09), rel=1e-6)
