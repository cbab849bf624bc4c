"""CBOW's loss, and vectors from a file on the way of a run."""

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from harness.data.corpora.packing import Packing
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.models import Architecture, Size
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.models.static_embeddings import StaticVectors
from harness.pretraining.budget import Budget
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.learners.static_vectors import CBOW
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain

SIZE = Size(num_layers=1, hidden_size=8, num_heads=1, intermediate_size=8)


def test_the_loss_is_of_the_mean_of_the_neighbours() -> None:
    backbone = build(
        Architecture(family="static", context_size=1, initializer_range=0.5),
        SIZE,
        Tokens(30, 0, 1, 2),
        "cbow",
        seed=0,
    )
    network = backbone.network
    assert isinstance(network, StaticVectors)
    batch = {
        "input_ids": torch.tensor([[1, 5, 6, 7, 2]]),
        "positions": torch.tensor([1, 2, 3]),
        "targets": torch.tensor([5, 6, 7]),
    }
    vectors = network.embeddings.weight
    means = torch.stack([vectors[6], (vectors[5] + vectors[7]) / 2, vectors[6]])
    expected = F.cross_entropy(means @ network.output.weight.T, batch["targets"], reduction="sum")
    torch.testing.assert_close(CBOW(backbone)(batch)[0]["token"], expected)


@pytest.mark.parametrize("algorithm", ["wordpiece", "byte_bpe", "unigram"])
def test_a_run_starts_from_the_vectors_of_its_words(algorithm: str, tmp_path: Path) -> None:
    tokenizer = Tokenizer.model_validate({"algorithm": algorithm, "vocab_size": 400})
    train(tokenizer, iter(["the cat saw the dog, the cat ran."] * 20), tmp_path / "tokenizer")
    path = tmp_path / "vectors.txt"
    path.write_text(
        "".join(f"{word} {' '.join([str(i)] * 8)}\n" for i, word in enumerate("x the ,".split()))
    )
    spec = Pretrain(
        tokenizer=tokenizer,
        packing=Packing(),
        objective=OBJECTIVES["cbow"],
        model=Architecture(family="static", vectors=str(path)),
        size=SIZE,
        budget=Budget(tokens=0),
    )
    vocabulary = Vocabulary.load(tmp_path / "tokenizer")
    network = make_learner(spec, vocabulary, 0, {}).backbone.network
    assert isinstance(network, StaticVectors)
    found = {w: network.embeddings.weight[i] for i, w in enumerate(vocabulary.words) if w}
    assert found["the"].tolist() == [1.0] * 8
    assert found[","].tolist() == [2.0] * 8
    assert not found["cat"].any() if "cat" in found else True
    assert not network.embeddings.weight[vocabulary.special].any()
