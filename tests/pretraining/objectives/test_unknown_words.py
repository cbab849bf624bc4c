"""Unknown words are neither predicted nor context in skip-gram and CBOW: word2vec.c,
`TrainModelThread`, skips them when it reads the text."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.experiment.recipe_defaults import resolve_pretrain
from harness.models.build import load
from harness.models.static_embeddings import StaticVectors
from harness.pretraining.learners.factory import make_learner
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.objective import AnyObjective
from harness.pretraining.objectives.targets import Batch, assemble
from harness.pretraining.objectives.transforms import apply_transform
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.run import pretrain
from tests.pretraining.objectives.transforms.texts import VOCABULARY, make_rows
from tests.token_streams import write_streams

UNKNOWN = 1
"""A special token that is part of the text."""
RECIPES = [
    ("skipgram", {}),
    ("cbow", {}),
    ("cbow", {"objective": OBJECTIVES["cbow_negative_sampling"].model_dump()}),
]


def rows_of(share: float) -> Rows:
    """Rows in which a share of the text is unknown, and a last row of nothing else."""
    rows = make_rows([[9, 4], [12], [], [5]])
    unknown = rows.maskable & (np.random.default_rng(1).random(rows.tokens.shape) < share)
    if share:
        unknown[-1] = rows.maskable[-1]
    return replace(rows, tokens=np.where(unknown, UNKNOWN, rows.tokens))


def made(name: str, rows: Rows) -> tuple[Batch, np.ndarray | None]:
    """The batch of an objective, and the window of each token."""
    objective: AnyObjective = OBJECTIVES[name]
    (_, plain), *_ = objective.components
    noise = apply_transform(plain.transform, rows, np.random.default_rng(3), VOCABULARY)
    return assemble(rows, noise, plain, None, VOCABULARY, 0), noise.window


def predictions(batch: Batch) -> list[tuple[int, int]]:
    return list(zip(batch["positions"].tolist(), batch["targets"].tolist(), strict=True))


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_pairs_of_skipgram_are_of_words(share: float) -> None:
    """Without unknown words, all pairs of tokens of the text, as in earlier versions."""
    rows = rows_of(share)
    batch, window = made("skipgram", rows)
    assert window is not None
    width, expected = rows.tokens.shape[1], []
    for b, row in enumerate(rows.tokens.tolist()):
        words = [t for t in range(width) if rows.maskable[b, t] and row[t] != UNKNOWN]
        for t in words:
            near = [other for other in words if 0 < abs(t - other) <= window[b, t]]
            expected += [(b * width + t, row[other]) for other in near]
    assert predictions(batch) == expected
    assert bool(expected) is (share < 1)
    assert np.array_equal(batch["input_ids"], rows.tokens)


@pytest.mark.parametrize("name", ["cbow", "cbow_negative_sampling"])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_cbow_predicts_words(name: str, share: float) -> None:
    """Without unknown words, all tokens of the text, as in earlier versions."""
    rows = rows_of(share)
    batch, _ = made(name, rows)
    tokens, is_text = rows.tokens.ravel().tolist(), rows.maskable.ravel().tolist()
    text = [(t, token) for t, token in enumerate(tokens) if is_text[t]]
    assert predictions(batch) == [one for one in text if one[1] != UNKNOWN]


KNOWN = "cat dog cow hen pig".split()
WORDS = Tokenizer(algorithm="word", vocab_size=64)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a `tokenizer` of five words, and `tokens` of text with as many unknown ones."""
    folder, rng = tmp_path_factory.mktemp("unknown"), np.random.default_rng(0)
    documents = [[" ".join(rng.choice([*KNOWN, *"vwxyz"], 8)) for _ in range(2)] for _ in range(99)]
    train(WORDS, iter(KNOWN * 9), folder / "tokenizer")
    write_streams(documents, folder / "tokenizer", folder / "tokens", 0.1)
    return folder


@pytest.mark.parametrize(("recipe", "changes"), RECIPES)
def test_the_vector_of_unknown_words_is_not_trained(
    recipe: str, changes: dict[str, Any], text: Path, tmp_path: Path
) -> None:
    spec = resolve_pretrain(
        {
            "recipe": recipe,
            "tokenizer": WORDS.model_dump(),
            "packing": {"format": "doc_sentences"},
            "size": {"num_layers": 1, "hidden_size": 8, "num_heads": 1, "intermediate_size": 8},
            "phases": [{"fraction": 1, "sequence_length": 32}],
            "optimizer": {"learning_rate": 0.02, "weight_decay": 0},
            "batch_size": 4,
            "budget": {"steps": 5},
            **changes,
        }
    )
    (tmp_path / "work").mkdir()
    pretrain(spec, text / "tokens", text / "tokenizer", tmp_path, tmp_path / "work", 0)
    vocabulary = Vocabulary.load(text / "tokenizer")
    before = make_learner(spec, vocabulary, 0, {}).backbone.network
    after = load(tmp_path / "model").network
    assert isinstance(before, StaticVectors) and isinstance(after, StaticVectors)
    moved = (before.embeddings.weight != after.embeddings.weight).any(1)
    assert torch.equal(moved, torch.tensor(~vocabulary.special))
