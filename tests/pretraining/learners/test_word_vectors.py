"""Networks that start from the word vectors of a file or of another run."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from harness.experiment.recipe_defaults import resolve_pretrain
from harness.models import FAMILY_FIELDS
from harness.models.build import load
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.learners.learner import Learner
from harness.pretraining.recipes.pretrain import Pretrain
from tests.pretraining.objectives.transforms.texts import VOCAB, make_vocabulary

WORDS = ("", *(f"w{i}" for i in range(1, VOCAB)))
RECIPES = {
    **{name: name for name in ("bert", "roberta", "gpt2", "elmo")},
    "lstm": "lm_lstm",
    "static": "skipgram",
}
"""Family to a recipe of it."""


def spec_of(recipe: str, vectors: Path | None, **changes: Any) -> Pretrain:
    model = {"vectors": str(vectors)} if vectors else {}
    fields = {
        "recipe": recipe,
        "model": model | changes.pop("model", {}),
        "size": {"num_layers": 1, "hidden_size": 16, "num_heads": 2, "intermediate_size": 16},
        "budget": {"tokens": 0},
        **changes,
    }
    return resolve_pretrain(fields)


def learner_of(spec: Pretrain, **folders: Path) -> Learner:
    vocabulary = make_vocabulary()
    object.__setattr__(vocabulary, "words", WORDS)
    return make_learner(spec, vocabulary, 0, folders)


def embeddings(spec: Pretrain, **folders: Path) -> torch.Tensor:
    """[V, E] initial token embeddings."""
    table = learner_of(spec, **folders).backbone.network.get_input_embeddings()
    assert isinstance(table, nn.Embedding)
    return table.weight.detach()


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    """Vectors of two words, of width 16."""
    path = tmp_path / "vectors.txt"
    lines = (f"{word} {' '.join([n] * 16)}\n" for word, n in (("w7", "2"), ("w9", "3")))
    path.write_text("".join(lines))
    return path


WITHOUT_RECIPE = ("bilstm", "dan")


@pytest.mark.parametrize("family", RECIPES)
def test_words_of_the_file_get_its_vectors(family: str, glove: Path) -> None:
    model = {"embedding_size": 16} if family in ("lstm", "elmo") else {}
    found = embeddings(spec_of(RECIPES[family], glove, model=model))
    plain = embeddings(spec_of(RECIPES[family], None, model=model))
    assert found[7].tolist() == [2.0] * 16 and found[9].tolist() == [3.0] * 16
    others = [i for i in range(len(found)) if i not in (7, 9)]
    expected = torch.zeros_like(plain) if family == "static" else plain
    assert torch.equal(found[others], expected[others])


def test_every_family_is_tested() -> None:
    assert {*FAMILY_FIELDS["vectors"]} == {*RECIPES, *WITHOUT_RECIPE}


def test_another_width_is_refused(glove: Path) -> None:
    with pytest.raises(ValueError, match=r"16 numbers, but model\.embedding_size is 8; set model"):
        embeddings(spec_of("lm_lstm", glove, model={"embedding_size": 8}))


def test_vectors_that_change_nothing_are_refused(glove: Path) -> None:
    again = spec_of("skipgram", glove, init_from={"budget": {"steps": 1}})
    assert again.init_from is not None and again.init_from.model == again.model
    with pytest.raises(ValueError, match=r"the output replaced_token ignores the word vectors"):
        spec_of("bert", glove, objective={"output": "replaced_token"})


FAMILIES = ("bert", "roberta", "gpt2", "lstm", "bilstm", "elmo", "dan")
START = {"recipe": "glove", "size": {"hidden_size": 16}, "budget": {"tokens": 0}}


def started(family: str, **changes: Any) -> Pretrain:
    """A network that starts from GloVe's vectors, which are as wide as its embeddings."""
    factorised = family in ("lstm", "bilstm", "elmo")
    model: dict[str, Any] = {"embedding_size": 16} if factorised else {}
    if family in WITHOUT_RECIPE:
        model["family"] = family
    return spec_of(RECIPES.get(family, "roberta"), None, model=model, **changes)


def test_every_network_that_reads_vectors_is_tested() -> None:
    assert {*FAMILY_FIELDS["vectors"]} == {*FAMILIES, "static"}


@pytest.mark.parametrize("family", FAMILIES)
def test_token_embeddings_start_from_another_run(family: str, tmp_path: Path) -> None:
    """They alone: other weights are those of a run without `init_from`."""
    spec, plain = started(family, init_from=START), started(family)
    assert spec.starts_from_vectors and not plain.starts_from_vectors
    assert spec.init_from is not None and spec.init_from.model.family == "static"
    learner_of(spec.init_from).save(tmp_path / "model")
    table = load(tmp_path / "model").network.get_input_embeddings()
    assert isinstance(table, nn.Embedding)
    given = table.weight
    assert torch.equal(embeddings(spec, init_from=tmp_path), given)
    weights, others = (
        one.backbone.network.state_dict()
        for one in (learner_of(spec, init_from=tmp_path), learner_of(plain))
    )
    differ = {name for name in weights if not torch.equal(weights[name], others[name])}
    assert differ and all(torch.equal(weights[name], given) for name in differ)


def test_a_run_of_the_same_family_gives_all_weights() -> None:
    again = spec_of("skipgram", None, init_from={"budget": {"steps": 1}})
    assert not again.starts_from_vectors


def test_vectors_of_a_run_that_cannot_be_taken_are_refused() -> None:
    wide = {**START, "size": {"hidden_size": 32}}
    with pytest.raises(ValueError, match="as wide as the token embeddings, 16, but they have 32"):
        started("elmo", init_from=wide)
    halves = {**START, "size": {"hidden_size": 8}}
    assert spec_of("elmo", None, init_from=halves).starts_from_vectors  # of each direction
    with pytest.raises(ValueError, match="the output replaced_token ignores the word vectors of i"):
        started("bert", init_from=START, objective={"output": "replaced_token"})
