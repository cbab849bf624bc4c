"""Bits per byte of held-out text, against values known from the text alone."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from harness.data.corpora.token_stream import TokenStream
from harness.data.tokenizers import Tokenizer, training
from harness.experiment.recipe_defaults import expand_names, resolve_pretrain
from harness.pretraining.objectives.held_out import held_out_batches
from harness.pretraining.objectives.loader import to_tensors
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.run import make_module
from tests.token_streams import write_streams

DOCUMENTS = [
    ["the naïve cat sat on the mat.", "a café was near, and the cat went in."],
    ["one dog.", "the dog saw the cat on the mat and ran after it for a very long while " * 3],
] * 4
LENGTH = 32
"""Tokens of a sequence: the last sentence is cut."""


def figures(
    folder: Path,
    tokenizer: Tokenizer,
    objective: str,
    model: str,
    change: Callable[[Any], Any] = lambda network: None,
) -> dict[str, float]:
    """Held-out figures of a model whose logits are all equal, with a change to its network."""
    training.train(tokenizer, (s for document in DOCUMENTS for s in document), folder / "tok")
    write_streams(DOCUMENTS, folder / "tok", folder, validation_fraction=0.5)
    vocabulary = Vocabulary.load(folder / "tok")
    fields: dict[str, Any] = {
        "objective": objective,
        "model": model,
        "size": "nano",
        "budget": {"tokens": 0},
    }
    fields |= {"phases": [{"fraction": 1, "sequence_length": LENGTH}]}
    fields |= {"tokenizer": tokenizer.model_dump(), "packing": {"format": "doc_sentences"}}
    spec = resolve_pretrain(expand_names(fields))
    module = make_module(spec, vocabulary, 0, {}, 0)
    for weight in module.parameters():
        torch.nn.init.zeros_(weight)
    change(module.learner.backbone.network)
    stream = TokenStream.open(folder / "validation")
    for batch in held_out_batches(stream, vocabulary, spec.objectives[-1], LENGTH, 0):
        module.validation_step(to_tensors(batch), 0)
    return module.figures()


def held_out() -> list[list[str]]:
    """Every other document, the first one among them."""
    return DOCUMENTS[::2]


TOKENIZERS = [
    Tokenizer(algorithm="wordpiece", vocab_size=90),
    Tokenizer(algorithm="byte_bpe", vocab_size=300),
]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda tokenizer: str(tokenizer.algorithm))
@pytest.mark.parametrize(
    ("objective", "model"),
    [("clm", "gpt2"), ("clm", "lstm"), ("bilm", "elmo"), ("bilm", "two_way_gpt2")],
)
def test_a_uniform_model(tmp_path: Path, tokenizer: Tokenizer, objective: str, model: str) -> None:
    """log2 V bits for each token of the text and for the end of each sequence, over its bytes."""
    found = figures(tmp_path, tokenizer, objective, model)
    splitter = PreTrainedTokenizerFast.from_pretrained(tmp_path / "tok")
    num_told = num_bytes = 0
    for document in held_out():
        counts = [len(splitter(s, add_special_tokens=False)["input_ids"]) for s in document]
        room = LENGTH - 2
        rows, free = 0, 0
        for count in counts:  # whole sentences as they fit; longer ones in parts of their own
            for part in [room] * ((count - 1) // room) + [(count - 1) % room + 1]:
                rows, free = (rows, free - part) if part <= free else (rows + 1, room - part)
        num_told += sum(counts) + rows
        num_bytes += sum(len(sentence.encode()) for sentence in document)
    expected = num_told * math.log2(len(splitter)) / num_bytes
    assert found["validation_bits_per_byte"] == pytest.approx(expected, rel=1e-5)
    assert found["validation_loss"] == pytest.approx(math.log(len(splitter)), rel=1e-5)


@pytest.mark.parametrize(("objective", "model"), [("mlm", "bert"), ("cbow", "static")])
def test_no_such_number_of_models_that_see_both_sides(
    tmp_path: Path, objective: str, model: str
) -> None:
    assert "validation_bits_per_byte" not in figures(tmp_path, TOKENIZERS[0], objective, model)


def test_bytes_of_every_sentence_are_kept(tmp_path: Path) -> None:
    texts = [["kept: ", "", "naïve"], ["a  b", "日本"]]
    training.train(Tokenizer(algorithm="byte_bpe", vocab_size=300), iter(["a b c"]), tmp_path)
    counts = write_streams(texts, tmp_path, tmp_path, validation_fraction=0.5)
    for name, sizes in (("validation", [6, 6]), ("train", [4, 6])):
        kept = TokenStream.open(tmp_path / name).bytes
        assert kept is not None and counts[f"{name}_bytes"] == np.sum(kept) and list(kept) == sizes


def test_a_loss_that_is_not_a_number_at_some_positions_has_no_mean(tmp_path: Path) -> None:
    def break_a_position(network: Any) -> None:
        torch.nn.init.constant_(network.transformer.wpe.weight[LENGTH // 2], math.nan)

    found = figures(tmp_path, TOKENIZERS[0], "clm", "gpt2", break_a_position)
    assert math.isnan(found["validation_loss"]) and math.isnan(found["validation_bits_per_byte"])
