"""Prompting: likelihoods by hand for each objective; demonstrations by seed."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

import harness.models.build
from harness.data.corpora import load_corpus
from harness.data.corpora.sources import MicroworldCorpus
from harness.data.tokenizers import Tokenizer, training
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.compatibility import unsupported_reason
from harness.finetuning.heads.prompt_answers import PromptAnswers
from harness.finetuning.prompting import Prompter, draw, prompted
from harness.finetuning.protocol import Protocol
from harness.models import Architecture, Size
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.pretraining.objectives import OBJECTIVES
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.scoring.likelihood import log_likelihoods
from harness.pretraining.scoring.requests import Text
from harness.tasks.examples import Examples
from harness.tasks.task import Task

SIZE = Size(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=64)
NOUNS = ("plot", "axe", "pig", "film", "hatchet", "bicycle", "trainer", "city")
EXAMPLES = Examples(
    [(f"the {a} is noisy.", f"the {b} is in it.") for a in NOUNS for b in NOUNS[:3]],
    np.arange(24) % 3 % 2,
)
ORDERS = Examples(
    EXAMPLES.texts,
    np.arange(24) % 6,
    [tuple(" ".join(words) for words in permutations((a, "the", "saw"))) for a in NOUNS * 3],
)
"""Choices of equal words, so that only their context differs."""
PATTERN = "{first} it was {answer}, and {second}"
READ = {"clm": "causal", "prefix_lm": "prefix"}
Saved = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    corpus = MicroworldCorpus(num_tokens=5_000)
    texts = (s for document in load_corpus.read_documents(corpus) for s in document)
    value = {"algorithm": "wordpiece", "vocab_size": 420, "sentinels": 8}
    training.train(Tokenizer.model_validate(value), texts, folder)
    return folder


@pytest.fixture(scope="module")
def tok(tokenizer: Path) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast.from_pretrained(tokenizer)


@pytest.fixture(scope="module")
def saved(tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """A network with random weights, saved as if trained on an objective."""

    def make(family: str, objective: str) -> Path:
        words = Vocabulary.load(tokenizer)
        trained = OBJECTIVES[objective].components[-1][1]
        if family == "gpt2":
            trained = trained.model_copy(update={"representation": READ[objective]})
        tokens = Tokens(words.size, words.pad, words.cls, words.sep)
        architecture = Architecture.model_validate({"family": family, "initializer_range": 0.3})
        backbone = build(architecture, SIZE, tokens, trained.representation, seed=0)
        backbone.objective = trained.model_dump(mode="json")
        folder = tmp_path_factory.mktemp("model")
        backbone.save(folder)
        return folder

    return make


def task_of(kind: str = "classification", pattern: str = PATTERN, **more: Any) -> Task:
    found: dict[str, Any] = {
        "name": "toy",
        "kind": kind,
        "data": {"source": "microworld", "generator": "toy"},
        "text_fields": ("first", "second"),
        "labels": ("negative", "positive"),
        "prompt": {"pattern": pattern, "answers": ("noisy", "charming")},
        "metrics": ("accuracy",),
    }
    return Task.model_validate(found | more)


def ordering() -> Task:
    prompt = {"pattern": "{first} {answer}, and {second}"}
    return task_of("multiple_choice", labels=(), choices_field="choices", prompt=prompt)


def prompter(
    task: Task, tok: PreTrainedTokenizerFast, max_tokens: int = 500, **more: Any
) -> Prompter:
    assert task.prompt
    return Prompter(task, task.prompt, tok, max_tokens, **more)


def filled(texts: tuple[str, ...], answer: str) -> str:
    return f"{texts[0]} it was {answer}, and {texts[1]}"


@torch.no_grad()
def test_a_causal_model_by_hand(tokenizer: Path, tok: Any, saved: Saved) -> None:
    """With transformers' own loss, text by text."""
    model = saved("gpt2", "clm")
    network = harness.models.build.load(model).network.eval()

    def score(text: str) -> float:
        ids = torch.tensor([tok(text)["input_ids"]])
        return -float(network(ids, labels=ids).loss) * (ids.shape[1] - 1)

    found = prompted(model, tokenizer, ordering(), Protocol(), None, 0)(ORDERS)
    assert ORDERS.choices
    scores = [
        [score(f"{first} {choice}, and {second}") for choice in choices]
        for (first, second), choices in zip(ORDERS.texts, ORDERS.choices, strict=True)
    ]
    assert found.dtype == np.float64 and len(set(found)) > 1
    assert found.tolist() == np.argmax(scores, axis=1).tolist()


@torch.no_grad()
def test_a_masked_model_by_hand(tokenizer: Path, tok: Any, saved: Saved) -> None:
    """Answers of one token each: the more likely one at the mask."""
    model = saved("bert", "mlm")
    network = harness.models.build.load(model).network.eval()
    words = [w for w in ("the", "is", "was", "saw") if len(tok.tokenize(w)) == 1]
    prompt = {"pattern": PATTERN, "answers": words}
    task = task_of(labels=tuple("abcd"[: len(words)]), prompt=prompt)
    found = prompted(model, tokenizer, task, Protocol(), None, 0)(EXAMPLES)
    assert len(words) > 1
    for texts, chosen in zip(EXAMPLES.texts, found, strict=True):
        ids = torch.tensor([tok(filled(texts, tok.mask_token))["input_ids"]])
        logits = network(ids).logits[ids == tok.mask_token_id][0]
        expected = logits[tok.convert_tokens_to_ids(words)]
        assert chosen == int(expected.argmax())


@pytest.mark.parametrize(
    ("family", "objective"),
    [
        ("bert", "mlm"),
        ("gpt2", "clm"),
        ("gpt2", "prefix_lm"),
        ("t5", "span_corruption"),
        ("bart", "denoising"),
        ("xlnet", "plm"),
    ],
)
def test_every_objective(
    tokenizer: Path, tok: Any, saved: Saved, family: str, objective: str
) -> None:
    model, task = saved(family, objective), task_of()
    found = prompted(model, tokenizer, task, Protocol(), None, 0)(EXAMPLES.head(4))
    backbone, vocabulary = harness.models.build.load(model), Vocabulary.load(tokenizer)
    for texts, chosen in zip(EXAMPLES.texts, found, strict=False):
        requested = [gap(tok, texts, answer) for answer in ("noisy", "charming")]
        assert chosen == log_likelihoods(backbone, vocabulary, requested).argmax()


def test_names_of_special_tokens_in_a_text_are_text(
    tokenizer: Path, saved: Saved, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[Text] = []

    def scores(backbone: Any, vocabulary: Any, texts: Sequence[Text], compute: Any) -> np.ndarray:
        scored.extend(texts)
        return np.zeros(len(texts))

    monkeypatch.setattr("harness.finetuning.prompting.log_likelihoods", scores)
    texts = ("the [MASK] cat [SEP]", "[CLS] [PAD] saw")
    examples = replace(EXAMPLES.head(1), texts=[texts])
    prompted(saved("gpt2", "clm"), tokenizer, task_of(), Protocol(), None, 0)(examples)
    splitter = PreTrainedTokenizerFast.from_pretrained(tokenizer, split_special_tokens=True)
    assert scored == [gap(splitter, texts, answer) for answer in ("noisy", "charming")]
    special = set(splitter.all_special_ids) - {splitter.unk_token_id}
    assert not set(scored[0].tokens) & special


def gap(tok: Any, texts: tuple[str, ...], answer: str) -> Text:
    parts = [f"{texts[0]} it was", answer, f", and {texts[1]}"]
    tokens = [tok(part, add_special_tokens=False)["input_ids"] for part in parts]
    begin = len(tokens[0])
    return Text(tuple(chain.from_iterable(tokens)), (begin, begin + len(tokens[1])))


def test_choices_of_each_example(tokenizer: Path, tok: Any, saved: Saved) -> None:
    task = task_of(
        "multiple_choice",
        "{first} {answer}",
        labels=(),
        choices_field="choices",
        text_fields=("first",),
        prompt={"pattern": "{first} {answer}"},
    )
    choices = [("then it rattles.",), ("so the pig saw it.", "then it rattles.", "no.")]
    examples = Examples([("the axe is noisy.",)] * 2, np.array([0, 1]), choices)
    found = prompted(saved("gpt2", "clm"), tokenizer, task, Protocol(), None, 0)(examples)
    assert found[0] == 0 and found[1] in (0, 1, 2)
    texts = prompter(task, tok).texts(examples, 1)
    for text, choice in zip(texts, choices[1], strict=True):
        assert text.gap
        assert tok.decode(text.tokens[slice(*text.gap)]) == choice


@pytest.mark.parametrize(
    ("pattern", "fields"),
    [
        ("{1} so {answer} {0}", ("first", "second")),
        ("{second} so {answer} {first}", ("first", "second")),
        ("{1} so {answer} {first}", ("first", "{word}: {sentence}")),
    ],
)
def test_texts_by_name_and_by_position(tok: Any, pattern: str, fields: tuple[str, str]) -> None:
    task = task_of(pattern=pattern, text_fields=fields)
    (text, _) = prompter(task, tok).texts(Examples([("the {axe}", "a pig")], np.array([0])), 0)
    assert text.gap
    assert tok.decode(text.tokens[: text.gap[0]]) == "a pig so"
    assert tok.decode(text.tokens[text.gap[1] :], skip_special_tokens=True) == "the axe"


def test_demonstrations_are_balanced_and_drawn_by_seed() -> None:
    for seed in range(5):
        shown = draw(EXAMPLES, 7, seed)
        counts = np.bincount(shown.labels)
        assert len(shown) == 7 and abs(counts[0] - counts[1]) == 1
    texts = [tuple(draw(EXAMPLES, 4, seed).texts) for seed in (0, 0, 1, 2)]
    assert texts[0] == texts[1] and len(set(texts)) == 3
    assert len(draw(EXAMPLES, 100, 0)) == len(EXAMPLES)


def test_demonstrations_precede_the_question(tok: Any) -> None:
    shown = EXAMPLES.take(np.array([1, 3]))
    task = task_of()
    (_, text) = prompter(task, tok, demonstrations=shown).texts(EXAMPLES, 5)
    words = ("noisy", "charming")
    solved = [filled(t, words[label]) for t, label in zip(shown.texts, shown.labels, strict=True)]
    right = " ".join([*solved, filled(EXAMPLES.texts[5], "charming")])
    assert tok.decode(text.tokens) == right
    assert text.gap and tok.decode(text.tokens[slice(*text.gap)]) == "charming"
    assert text.gap[0] > len(tok(solved[0])["input_ids"])


def test_the_longest_demonstration_is_dropped_first(tok: Any) -> None:
    long = ("the axe is noisy, and so is the pig beside the hatchet.", "the pig is in it.")
    shown = Examples([EXAMPLES.texts[0], long, EXAMPLES.texts[3]], np.array([0, 1, 1]))
    task = task_of()
    whole, _ = prompter(task, tok, demonstrations=shown).texts(EXAMPLES, 5)
    less, _ = prompter(task, tok, len(whole.tokens) - 1, demonstrations=shown).texts(EXAMPLES, 5)
    text = tok.decode(less.tokens)
    assert long[0] not in text and all(EXAMPLES.texts[i][0] in text for i in (0, 3))
    none, _ = prompter(task, tok, 40, demonstrations=shown).texts(EXAMPLES, 5)
    alone, _ = prompter(task, tok).texts(EXAMPLES, 5)
    assert none == alone or len(none.tokens) <= 40


def test_long_questions_are_truncated_equally_for_every_answer(tok: Any) -> None:
    examples = Examples([("the axe is noisy. " * 20, "the pig saw it.")], np.array([0]))
    texts = prompter(task_of(), tok, 40).texts(examples, 0)
    assert 30 < max(len(text.tokens) for text in texts) <= 40
    before = {text.tokens[: text.gap[0]] for text in texts if text.gap}
    after = {text.tokens[text.gap[1] :] for text in texts if text.gap}
    assert len(before) == len(after) == 1
    with pytest.raises(ValueError, match="too small for the prompt of toy"):
        prompter(task_of(), tok, 3).texts(examples, 0)


@pytest.mark.parametrize("answer", ["", " ", "\u200b"])
def test_an_answer_without_tokens_is_refused(tok: Any, answer: str) -> None:
    examples = Examples([("the axe", "a pig")], np.array([0]), [("rattles", answer)])
    with pytest.raises(ValueError, match="toy needs answers with tokens in its prompt, but"):
        prompter(ordering(), tok).texts(examples, 0)


def test_classes_of_equal_tokens_are_refused(tokenizer: Path, tok: Any, saved: Saved) -> None:
    """Words of unknown characters are one unknown token, so that the first class would always be
    predicted before the second."""
    prompt = {"pattern": PATTERN, "answers": ("\u2603", "\u2604", "noisy")}
    task = task_of(labels=("a", "b", "c"), prompt=prompt)
    assert len(set(tok(["\u2603", "\u2604"])["input_ids"][0])) == 3  # between special tokens
    for run in (
        lambda: prompted(saved("gpt2", "clm"), tokenizer, task, Protocol(), None, 0),
        lambda: PromptAnswers(task, Protocol(), tok, OBJECTIVES["clm"].components[-1][1]),
    ):
        with pytest.raises(ValueError, match="the same tokens for '\u2603' and '\u2604'"):
            run()


@pytest.mark.parametrize("max_tokens", [60, 90, 120, 200])
def test_no_more_demonstrations_are_dropped_than_necessary(tok: Any, max_tokens: int) -> None:
    """With one more demonstration the text would be too long."""
    texts: list[tuple[str, ...]] = [
        (f"the {noun} is{' very' * many} noisy.", "so it is.") for noun in NOUNS for many in (0, 4)
    ]
    shown = Examples(texts, np.arange(len(texts)) % 2)
    one = prompter(task_of(), tok, max_tokens, demonstrations=shown)
    left = list(one._solved)
    while one._excess(left, EXAMPLES.texts[5], ("noisy", "charming")) > 0:
        left.remove(max(left, key=one._length))
    found = one._fitting(EXAMPLES.texts[5], ("noisy", "charming"))
    assert found == left and 0 < len(left) < len(texts)


def test_demonstrations_depend_on_their_number_and_the_seed(tokenizer: Path, saved: Saved) -> None:
    model = saved("gpt2", "clm")

    def predictions(num_fewshot: int, seed: int) -> list[float]:
        protocol = Protocol(num_fewshot=num_fewshot, max_sequence_length=200)
        return list(prompted(model, tokenizer, ordering(), protocol, ORDERS, seed)(ORDERS))

    assert predictions(3, 0) == predictions(3, 0)
    assert len({tuple(predictions(3, seed)) for seed in range(6)}) > 1
    with pytest.raises(ValueError, match="no train set for 2 demonstrations"):
        prompted(model, tokenizer, task_of(), Protocol(num_fewshot=2), None, 0)


def run_of(recipe: str) -> Pretrain:
    return RECIPES[recipe].model_copy(update={"recipe": recipe})


@pytest.mark.parametrize(
    ("recipe", "adaptation", "task", "protocol", "why"),
    [
        ("bert", "prompt", {}, {}, ""),
        ("gpt2", "prompt", {"prompt": None}, {}, "the task has no prompt"),
        ("gpt2", "prompt", {"train": None}, {"num_fewshot": 2}, "no train set to draw"),
        ("electra", "prompt", {}, {}, "replaced tokens"),
        ("bert", "full", {}, {"answer": "text"}, "a bidirectional model"),
        ("electra", "full", {}, {"answer": "text"}, "a bidirectional model"),
        ("elmo", "full", {}, {"answer": "text"}, "a bilm model"),
        ("cbow", "full", {}, {"answer": "text"}, "a cbow model"),
        ("skipgram", "full", {}, {"answer": "text"}, "a skipgram model"),
        ("skipgram", "prompt", {}, {}, "tell tokens from sampled ones"),
        ("bert", "full", {"kind": "generation"}, {}, "a bidirectional model"),
        ("bert", "full", {"kind": "similarity"}, {"answer": "text"}, ""),
        ("gpt2", "full", {"kind": "generation"}, {"num_beams": 4}, ""),
        ("gpt2", "frozen", {"kind": "generation"}, {}, "weights are frozen"),
        (
            "gpt2",
            "full",
            {},
            {"answer": "text", "max_sequence_length": 1024},
            "fewer than the 1088",
        ),
        ("t5", "full", {}, {"answer": "text"}, ""),
        ("bart", "full", {}, {"answer": "text"}, ""),
        ("majority", "prompt", {"prompt": None}, {}, ""),
    ],
)
def test_unsupported_prompts(
    recipe: str, adaptation: str, task: dict[str, Any], protocol: dict[str, Any], why: str
) -> None:
    given = task_of().model_copy(update=task)
    found = unsupported_reason(given, Protocol(**protocol), ADAPTATIONS[adaptation], run_of(recipe))
    assert (why in found) if why else not found
