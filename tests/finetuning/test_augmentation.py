"""Copies of examples with other words: against a plain loop over the network, and by hand."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.finetuning.augmentation import (
    Word,
    augmented_texts,
    changed,
    outputs_folder,
    save_texts,
    taught_examples,
    words_of,
)
from harness.finetuning.distillation import TEXTS, Augmentation
from harness.models.backbone import Backbone
from harness.pretraining.objectives import OBJECTIVES
from harness.tasks.examples import Examples
from tests.finetuning.heads.test_conformance import make_backbone

SENTENCES = ["the cat saw a dog in rain", "rain, the dog!", "a cat ran"]
ALGORITHMS = ("wordpiece", "byte_bpe", "unigram")
SETTINGS = Augmentation(copies=4, probability=0.5, candidates=3)


@pytest.fixture(scope="module", params=ALGORITHMS)
def tokenizer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> PreTrainedTokenizerFast:
    folder, size = tmp_path_factory.mktemp("tokenizer"), 290 if "byte" in request.param else 64
    given = Tokenizer.model_validate({"algorithm": request.param, "vocab_size": size})
    train(given, iter(SENTENCES * 9), folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


@pytest.fixture(scope="module")
def backbone(tokenizer: PreTrainedTokenizerFast) -> Backbone:
    made = make_backbone("bert", "bidirectional", tokenizer)
    made.objective = OBJECTIVES["mlm"].model_dump(mode="json")
    return made.eval()


def augmented(
    texts: Sequence[tuple[str, ...]],
    backbone: Backbone,
    tokenizer: PreTrainedTokenizerFast,
    settings: Augmentation = SETTINGS,
    seed: int = 0,
) -> list[tuple[str, ...]]:
    return augmented_texts(texts, settings, backbone, tokenizer, 32, seed)


def test_candidates_are_the_most_probable_words_of_a_plain_loop(
    backbone: Backbone, tokenizer: PreTrainedTokenizerFast
) -> None:
    """One word at a time, without padding; by the name of each token of the whole vocabulary."""
    found = words_of(SENTENCES, backbone, tokenizer, 32, 3)
    assert sum(map(len, found.values())) >= 4
    names = [str(tokenizer.decode([token])).strip() for token in range(len(tokenizer))]
    for text, words in found.items():
        encoded = tokenizer(text, return_offsets_mapping=True)
        ids = encoded["input_ids"]
        for word in words:
            assert text[word.start : word.end].isalpha()
            (place,) = [
                i for i, span in enumerate(encoded["offset_mapping"]) if span[1] == word.end
            ]
            row = torch.tensor([ids])
            row[0, place] = tokenizer.mask_token_id
            with torch.no_grad():
                states = backbone(row, token_type_ids=torch.zeros_like(row)).last_hidden_state
                order = backbone.token_logits(states[0, place]).argsort(descending=True).tolist()
            best = [names[token] for token in order if starts_a_word(token, tokenizer)]
            assert list(word.candidates) == best[:3]


def starts_a_word(token: int, tokenizer: PreTrainedTokenizerFast) -> bool:
    """By its mark: none for WordPiece, a space for the others; of letters alone."""
    name = str(tokenizer.convert_ids_to_tokens(token))
    if token in tokenizer.all_special_ids:
        return False
    if name[0] in "Ġ▁":
        return name[1:].isalpha()
    is_wordpiece = "##a" in tokenizer.get_vocab()
    return is_wordpiece and name.isalpha()


def test_words_of_several_tokens_and_punctuation_stay(
    backbone: Backbone, tokenizer: PreTrainedTokenizerFast
) -> None:
    tried = ("dogcat", "raan", "ins", "rainn", "sawn")
    several = next(word for word in tried if len(tokenizer.tokenize(word)) > 1)
    always = Augmentation(copies=6, probability=1)
    for (found,) in augmented([(f"rain, {several} the dog!",)], backbone, tokenizer, always)[1:]:
        assert f", {several} " in found and found.endswith("!")
    assert augmented([("...",), ("",)], backbone, tokenizer, always)[2:] == [("...",), ("",)] * 6


def test_candidates_are_never_special_tokens(
    backbone: Backbone, tokenizer: PreTrainedTokenizerFast
) -> None:
    every = Augmentation(candidates=10_000)
    found = words_of(SENTENCES, backbone, tokenizer, 32, every.candidates)
    names = {name for words in found.values() for word in words for name in word.candidates}
    assert {"the", "dog"} <= names and all(name.isalpha() for name in names)
    assert not names & set(tokenizer.all_special_tokens)


def test_without_probability_copies_are_the_examples(
    backbone: Backbone, tokenizer: PreTrainedTokenizerFast
) -> None:
    texts = [("The  cat saw\ta dog", "In rain ."), ("a", "b")]
    none = Augmentation(copies=2, probability=0)
    assert augmented(texts, backbone, tokenizer, none) == texts * 3


def test_a_copy_is_decided_by_seed_example_and_number(
    backbone: Backbone, tokenizer: PreTrainedTokenizerFast
) -> None:
    texts = [(one,) for one in SENTENCES]
    found = augmented(texts, backbone, tokenizer)
    assert len(found) == 3 * (1 + SETTINGS.copies) and found[:3] == texts
    assert found == augmented(texts, backbone, tokenizer)
    assert found != augmented(texts, backbone, tokenizer, seed=1)
    more = SETTINGS.model_copy(update={"copies": 6})
    assert augmented(texts, backbone, tokenizer, more)[: len(found)] == found
    assert augmented(texts[:2], backbone, tokenizer)[2:4] == found[3:5]  # without the third
    assert len(set(found)) > 6


def test_an_example_by_hand() -> None:
    """Replaced where a draw of the generator is below the probability; then the next draw says by
    which."""
    words = [Word(0, 3, ("x", "y")), Word(4, 7, ("u",)), Word(9, 10, ("p", "q", "r"))]
    settings, text = Augmentation(probability=0.5), "one two, 3"
    dice, parts = np.random.default_rng([7, 0, 0]), []
    for word in words:
        kept = dice.random() >= 0.5
        own = text[word.start : word.end]
        parts.append(own if kept else word.candidates[dice.integers(len(word.candidates))])
    found = changed(text, words, settings, np.random.default_rng([7, 0, 0]))
    assert found == f"{parts[0]} {parts[1]}, {parts[2]}"
    always = changed(text, words[1:2], Augmentation(probability=1), dice)
    assert always == "one u, 3"


def test_the_share_of_replaced_words_is_the_probability() -> None:
    text = " ".join(["old"] * 5_000)
    words = [Word(4 * place, 4 * place + 3, ("new", "other")) for place in range(5_000)]
    found = changed(text, words, Augmentation(), np.random.default_rng(0)).split()
    assert 1 - found.count("old") / 5_000 == pytest.approx(0.4, abs=4 * (0.24 / 5_000) ** 0.5)
    assert found.count("new") / 5_000 == pytest.approx(0.2, abs=4 * (0.16 / 5_000) ** 0.5)


def test_words_behind_the_longest_input_stay(
    backbone: Backbone, tokenizer: PreTrainedTokenizerFast
) -> None:
    text = " ".join(["cat"] * 60)
    found = words_of([text], backbone, tokenizer, 12, 3)[text]
    assert 0 < len(found) <= 10 and found[0].start == 0


def test_copies_have_the_labels_of_their_originals(tmp_path: Path) -> None:
    examples = Examples([("a",), ("b",)], np.array([1, 0]))
    folder = outputs_folder(tmp_path, SETTINGS)
    assert folder != outputs_folder(tmp_path, Augmentation()) and folder.parent.parent == tmp_path
    save_texts([("a",), ("b",), ("x",), ("ü",)], folder)
    given, inputs = {"augment": SETTINGS.model_dump()}, {"teacher": tmp_path}
    found = taught_examples(given, inputs, examples)
    assert found and found.texts[2:] == [("x",), ("ü",)] and found.labels.tolist() == [1, 0, 1, 0]
    assert taught_examples(None, {}, examples) is examples
    assert taught_examples(given, {}, None) is None and (folder / TEXTS).is_file()
    with pytest.raises(ValueError, match="needs a teacher that was trained on the examples of the"):
        taught_examples(given, inputs, examples.take(np.array([1, 0])))


@pytest.mark.parametrize(
    ("objective", "family", "reading", "message"),
    [
        ("clm", "gpt2", "causal", "it reads causal"),
        ("rtd", "bert", "bidirectional", "its output is replaced_token"),
    ],
)
def test_other_networks_are_refused(
    objective: str, family: str, reading: str, message: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    made = make_backbone(family, reading, tokenizer)
    made.objective = OBJECTIVES[objective].model_dump(mode="json")
    with pytest.raises(ValueError, match=f"a teacher whose network predicts masks: {message}"):
        augmented([("a cat",)], made, tokenizer)
