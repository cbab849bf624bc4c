"""Damaged tokenizers of checkpoints are one line, and ids that a tokenizer skips are no tokens."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers import Tokenizer, pretrained
from harness.data.tokenizers.training import train
from harness.pretraining.checkpoint_import import check_tokens
from harness.pretraining.objectives.vocabulary import Vocabulary
from tests.models.networks import small

TEXTS = ["the cat sat on the mat", "a dog ran after the cat"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizers") / "whole"
    train(Tokenizer(algorithm="wordpiece", vocab_size=80), iter(TEXTS * 5), folder)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return shutil.copytree(whole, tmp_path / "theirs")


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / "tokenizer.json").read_text())
    edit(content)
    (folder / "tokenizer.json").write_text(json.dumps(content))


def refused(folder: Path) -> None:
    with pytest.raises(ValueError, match=r"\Athe tokenizer in [^\n]+ cannot be read: [^\n]+\Z"):
        pretrained.check(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_file_that_is_cut_off_is_one_line(folder: Path, name: str, share: float) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: int(share * len(content))])
    refused(folder)


def test_a_tokenizer_without_the_token_of_unknown_text_is_refused(folder: Path) -> None:
    change(folder, lambda content: content["model"]["vocab"].clear())
    refused(folder)


@pytest.mark.parametrize("template", ["single", "pair"])
def test_a_tokenizer_at_which_its_library_panics_is_refused(folder: Path, template: str) -> None:
    unknown = {"SpecialToken": {"id": "[NONE]", "type_id": 0}}
    change(folder, lambda content: content["post_processor"][template].append(unknown))
    refused(folder)


def test_a_huge_number_of_a_token_is_refused_before_memory_is_taken_for_it(folder: Path) -> None:
    change(folder, lambda content: content["model"]["vocab"].update({"cat": 10**9}))
    with pytest.raises(ValueError, match="up to 2,097,152, but has one of number 1,000,000,000"):
        pretrained.check(folder)


def test_every_token_must_be_embedded(folder: Path, tmp_path: Path) -> None:
    change(folder, lambda content: content["model"]["vocab"].update({"cat": 10**6}))
    pretrained.adopt(folder, tmp_path / "ours")
    with pytest.raises(ValueError, match="a token of number 1000000, but the network embeds 90"):
        check_tokens(small("bert", "bidirectional"), tmp_path / "ours")


def test_ids_that_a_tokenizer_skips_are_no_tokens(folder: Path, tmp_path: Path) -> None:
    change(folder, lambda content: content["model"]["vocab"].update({"cat": 85}))
    pretrained.adopt(folder, tmp_path / "ours")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path / "ours")
    vocabulary = Vocabulary.load(tmp_path / "ours")
    skipped = sorted({*range(86)} - {*tokenizer.get_vocab().values()})
    assert skipped and vocabulary.size == len(vocabulary.word_start) == len(vocabulary.words) == 86
    assert vocabulary.special[skipped].all() and not vocabulary.special[85]
    assert not np.isin(skipped, vocabulary.ordinary).any()
    assert (vocabulary.words[85], {vocabulary.words[i] for i in skipped}) == ("cat", {""})
