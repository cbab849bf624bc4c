"""Losses of the first updates of every recipe at a miniature size, to notice when a run changes.

`python -m tests.pretraining.recipes.golden` rewrites golden_losses.json; say why in the commit.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.data.corpora import load_corpus
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import training
from harness.experiment.recipe_defaults import resolve_pretrain
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import pretrain
from tests.token_streams import write_streams

FILE = Path(__file__).parent / "golden_losses.json"
TRAINED = [name for name in RECIPES if name != "checkpoint"]
"""Recipes with their own network."""
UPDATES = 8
SIZE = {"num_layers": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 128}
CORPUS = MicroworldCorpus(num_tokens=20_000)
SMALL: dict[str, Any] = {
    "corpus": CORPUS.model_dump(),
    "tokenizer": {
        "algorithm": "wordpiece",
        "vocab_size": 600,
        "lowercase": True,
        "sentinels": 20,
        "extra_tokens": ["[NLU]", "[NLG]", "[S2S]"],
    },
    "size": SIZE,
    "phases": [{"fraction": 1, "sequence_length": 32}],
    "batch_size": 4,
    "optimizer": {"learning_rate": 1e-3},
    "schedule": {"warmup_fraction": 0.25, "warmup_steps": None},
    "model": {"max_position": 64},
    "budget": {"steps": UPDATES},
}
PUBLISHED = ("dropout", "attention_dropout", "initializer_range")
"""Fields of the model that keep the recipe's values, in place of those of small sizes."""
NARROW = {"albert", "electra", "electra_mlm", "lm_lstm", "sa_lstm", "skip_thought"}
"""Recipes whose embeddings are narrower than their states."""


def small(recipe: str) -> Pretrain:
    """The recipe, its kind of network and its objective, in miniature."""
    published = RECIPES[recipe].model.model_dump(include=set(PUBLISHED))
    factor = RECIPES[recipe].optimizer.embedding_learning_rate_factor
    fields = {
        **SMALL,
        "recipe": recipe,
        "model": SMALL["model"] | published,
        "optimizer": SMALL["optimizer"] | {"embedding_learning_rate_factor": factor},
    }
    if RECIPES[recipe].model.facts.kind == "baseline":
        fields["budget"] = {"steps": 0}
    if recipe in NARROW:
        fields["model"] |= {"embedding_size": 16}
    if RECIPES[recipe].teacher:
        fields["teacher"] = {"size": SIZE | {"num_layers": 4}, "objective": {"dupe_factor": 1}}
    return resolve_pretrain(fields)


def prepare(folder: Path) -> None:
    """Writes `tokenizer` and `tokens` to `folder`."""
    texts = (sentence for document in load_corpus.read_documents(CORPUS) for sentence in document)
    training.train(small("bert").tokenizer, texts, folder / "tokenizer")
    documents = load_corpus.read_documents(CORPUS)
    write_streams(documents, folder / "tokenizer", folder / "tokens", 0.05)


def losses(recipe: str, data: Path, work: Path) -> list[float]:
    """The loss of each update, after training the teacher if there is one."""
    return _losses(small(recipe), data, work)


def _losses(spec: Pretrain, data: Path, work: Path) -> list[float]:
    folders = {}
    if spec.teacher:
        folders["teacher"] = work / "teacher"
        _losses(spec.teacher, data, folders["teacher"])
    work.mkdir(parents=True, exist_ok=True)
    pretrain(spec, data / "tokens", data / "tokenizer", work, work, 0, folders=folders)
    with (work / "curve.csv").open() as file:
        return [float(f"{float(row['train_loss']):.8g}") for row in csv.DictReader(file)]


def all_losses() -> Iterator[tuple[str, list[float]]]:
    """(recipe, its losses), recipe by recipe."""
    with TemporaryDirectory() as folder:
        prepare(Path(folder))
        for recipe in TRAINED:
            yield recipe, losses(recipe, Path(folder), Path(folder) / recipe)


if __name__ == "__main__":
    lines = [f'  "{name}": {json.dumps(values)}' for name, values in all_losses()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
