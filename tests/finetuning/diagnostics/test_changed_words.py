"""Attribution by hand of linear and quadratic models, its completeness for each family, and the
words in which texts differ."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.finetuning.adaptation import Adaptation, Full, PromptTuning
from harness.finetuning.changed_embeddings import changed_embeddings
from harness.finetuning.diagnostics import ATTRIBUTED, CHANCE, DIAGNOSTICS_COLUMNS, STRONGEST
from harness.finetuning.diagnostics.changed_words import (
    Places,
    _hit,
    _places,
    attributions,
    changed_words,
)
from harness.finetuning.heads import task_head
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import SWAPPED, Batch, orders
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel
from harness.models import MODELS
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.tasks import TASKS
from harness.tasks.examples import Examples
from tests.finetuning.methods.models import SIZE, adapted, batch
from tests.finetuning.test_sift import ONE_STACK

PAIRS: list[tuple[str, ...]] = [
    ("the dog barked at Ann.", "The animal barked at Ann!"),
    ("Ann saw the cat.", "Ann saw the lamp."),
]
DIFFERING = [[{"dog"}, {"animal"}], [{"cat"}, {"lamp"}]]
FULL = Full()


class Bag(TaskModel):
    """Logits from the sum over all tokens of the embedding times a vector for each class, to a
    power."""

    def __init__(self, table: Tensor, weights: Tensor, power: int = 1) -> None:
        super().__init__()
        network = nn.Module()
        network.table = nn.Embedding.from_pretrained(table)
        network.get_input_embeddings = lambda: network.table  # type: ignore[assignment]
        self.backbone = SimpleNamespace(network=network)  # type: ignore[assignment]
        self.network: Any = network
        self.power = power
        self.weights = nn.Parameter(weights)

    def states(self, batch: Batch) -> list[Tensor]:
        return [
            self.network.table(one["input_ids"]) * one["attention_mask"].unsqueeze(-1)
            for one in orders(batch)
        ]

    def outputs(self, batch: Batch, states: Sequence[Tensor]) -> Tensor:
        sums = torch.stack([own.sum(1) @ self.weights for own in states])
        return (sums**self.power).sum(0)


def bag(power: int) -> Bag:
    torch.manual_seed(1)
    return Bag(torch.randn(40, 8), torch.randn(8, 3), power)


def incompleteness(name: str, adaptation: Adaptation = FULL) -> float:
    """How far attributions miss the change of the margin, as a share of their absolute sum."""
    model, one = adapted(name, adaptation).eval(), batch()
    (found,) = attributions(model, one)
    assert found.shape == one["input_ids"].shape
    with torch.no_grad():
        logits = model(one)
        with changed_embeddings(model, lambda _, embedded: torch.zeros_like(embedded)):
            empty = model(one)
    chosen = logits.argmax(1, keepdim=True)
    margins = [(own.gather(1, chosen)[:, 0] - own.mean(1)) for own in (logits, empty)]
    error = (found.sum(1) - (margins[0] - margins[1])).abs()
    return float((error / found.abs().sum(1)).max())


def swapped_batch() -> Batch:
    one = batch()
    return one | {SWAPPED + name: value.flip(0) for name, value in one.items() if value.ndim == 2}


@pytest.mark.parametrize("power", [1, 2])
def test_attribution_by_hand(power: int) -> None:
    """Of a sum s = sum of e w, a token's share is e w; of its square, by the integral of 2 a s e w
    over a from 0 to 1, s e w. Gradient times input would be twice that."""
    model, one = bag(power), swapped_batch()
    found = attributions(model, one)
    assert len(found) == 2
    with torch.no_grad():
        chosen = model(one).argmax(1)
        for own, given in zip(found, orders(one), strict=True):
            parts = model.network.table(given["input_ids"]) @ model.weights  # [B, T, C]
            parts = parts * given["attention_mask"].unsqueeze(-1)
            parts = parts * parts.sum(1, keepdim=True) ** (power - 1)
            rows = torch.arange(len(chosen))
            expected = parts[rows, :, chosen] - parts.mean(-1)
            torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ATTRIBUTED)
def test_attributions_add_up_to_what_the_embeddings_change(name: str) -> None:
    """Completeness (Sundararajan et al. 2017, proposition 1), within the 5 % there."""
    assert incompleteness(name) < 0.05


@pytest.mark.parametrize("name", ["bert", "gpt2", "lstm"])
def test_the_vectors_of_a_soft_prompt_have_no_attribution(name: str) -> None:
    assert incompleteness(name, PromptTuning(length=5)) < 0.05


@pytest.mark.parametrize("name", sorted({*ONE_STACK} - {*ATTRIBUTED}))
def test_families_whose_norm_undoes_the_scale_have_no_attribution(name: str) -> None:
    assert incompleteness(name) > 0.2


def test_attribution_is_repeatable_and_leaves_no_trace() -> None:
    model, one = adapted("bert", Full()).eval(), batch()
    (first,), (second,) = attributions(model, one), attributions(model, one)
    assert torch.equal(first, second)
    assert (first[~one["attention_mask"].bool()] == 0).all()
    assert all(own.grad is None for own in model.parameters())


@pytest.fixture(scope="module", params=["wordpiece", "bpe", "byte_bpe", "unigram"])
def tokenizer(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> PreTrainedTokenizerFast:
    folder = tmp_path_factory.mktemp("tokenizer")
    texts = [text for pair in PAIRS for text in pair] * 20
    scheme = Tokenizer(vocab_size=280, algorithm=request.param, lowercase=False)
    train(scheme, iter(texts), folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


def head_of(tokenizer: PreTrainedTokenizerFast, task: str = "micro-rte", **more: Any) -> TaskHead:
    fields = {"max_sequence_length": 48, **more}
    return task_head(TASKS[task], Protocol.model_validate(fields), tokenizer)


def test_changed_words_are_those_that_the_other_text_lacks(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    head = head_of(tokenizer)
    rows = head.encode(Examples(PAIRS, np.array([0, 1]))).input_ids
    for number, (places, words) in enumerate(zip(_places(head, PAIRS), DIFFERING, strict=True)):
        assert len(places.of_text) == len(places.changed) == len(rows[number])
        pieces = tokenizer.convert_ids_to_tokens(rows[number].tolist())
        marked = "".join(np.array(pieces)[places.changed])
        for sign in ("##", "Ġ", "▁", "</w>"):
            marked = marked.replace(sign, "")
        assert marked == "".join(word for own in words for word in own)
        special = np.isin(rows[number], tokenizer.all_special_ids)
        assert (places.of_text == ~special).all() and special.any()


def test_tokens_beyond_the_limit_have_no_place(tokenizer: PreTrainedTokenizerFast) -> None:
    (places, _) = _places(head_of(tokenizer, max_sequence_length=8), PAIRS)
    assert len(places.of_text) == 8


def places(*changed: int) -> Places:
    """Of a row with a special token before and after its texts."""
    return Places(
        np.array([False, *[True] * len(changed), False]),
        np.array([False, *map(bool, changed), False]),
    )


@pytest.mark.parametrize(
    ("changed", "strengths", "expected"),
    [
        ([0, 1, 0, 0], [9, 1, 3, 2, 1, 9], (1, 0.25)),  # special tokens do not count
        ([0, 1, 0, 0], [0, 3, 1, 2, 1, 0], (0, 0.25)),
        ([0, 1, 1, 0], [0, 3, 3, 3, 3, 0, 9, 9], (0.5, 0.5)),  # equal; padding does not count
        ([0, 0], [0, 1, 2, 0], None),
        ([1, 1], [0, 1, 2, 0], None),
    ],
)
def test_the_strongest_token_decides(
    changed: list[int], strengths: list[float], expected: tuple[float, float] | None
) -> None:
    found = _hit([places(*changed)], [np.array(strengths, dtype=float)])
    assert found == expected


def test_both_orders_count_together() -> None:
    rows, strengths = [places(0, 1), places(1, 0)], [np.array([0, 5.0, 1, 0]), np.ones(4)]
    assert _hit(rows, strengths) == (0, 0.5)
    assert _hit(rows, [strengths[1], np.array([0, 6.0, 1, 0])]) == (1, 0.5)


def test_infinite_attributions_have_no_value() -> None:
    value, share = _hit([places(0, 1)], [np.array([0, np.inf, 1, 0])]) or (0, 0)
    assert np.isnan(value) and share == 0.5


@pytest.mark.parametrize("both_orders", [False, True])
@pytest.mark.parametrize(("word", "expected"), [("dog", 0.5), ("saw", 0.0)])
def test_the_share_of_a_model_that_reads_one_word(
    word: str, expected: float, both_orders: bool, tmp_path: Any
) -> None:
    """It reads `dog`, which the first pair does not share, or `saw`, which the second one does. In
    the other pair all attributions are 0, so that each token is the strongest one."""
    train(Tokenizer(vocab_size=280), iter([t for pair in PAIRS for t in pair] * 20), tmp_path)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    head = head_of(tokenizer, "micro-mrpc", both_orders=both_orders)
    table = torch.zeros(len(tokenizer), 2)
    (token,) = tokenizer.convert_tokens_to_ids([word])
    table[token] = 1.0
    examples = Examples(PAIRS, np.array([0, 1]))
    model = Bag(table, torch.tensor([[1.0, -1.0], [1.0, -1.0]]))
    frame = changed_words(model, head, examples)
    assert list(frame.columns) == DIAGNOSTICS_COLUMNS and list(frame["name"]) == [STRONGEST, CHANCE]
    read = head.encode(examples).input_ids
    shares = [np.mean(one.changed[one.of_text]) for one in _places(head, PAIRS)]
    other = shares[1] if word == "dog" else shares[0]
    assert len(read) == 2
    assert frame["value"].tolist() == pytest.approx([expected + other / 2, np.mean(shares)])


def test_pairs_without_a_difference_have_no_value(tmp_path: Any) -> None:
    train(Tokenizer(vocab_size=280), iter([t for pair in PAIRS for t in pair] * 20), tmp_path)
    head = head_of(PreTrainedTokenizerFast.from_pretrained(tmp_path))
    same = Examples([("the dog.", "The dog!")], np.array([0]))
    model = Bag(torch.ones(len(head.tokenizer), 2), torch.ones(2, 2))
    assert changed_words(model, head, same)["value"].isna().all()


def test_recurrent_layers_are_read_as_cudnn_needs_for_gradients(tmp_path: Any) -> None:
    """In evaluation mode, it has none: "cudnn RNN backward can only be called in training mode"."""
    train(Tokenizer(vocab_size=280), iter([t for pair in PAIRS for t in pair] * 20), tmp_path)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    head = head_of(tokenizer, head="bilstm")
    ids = (tokenizer.pad_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id)
    backbone = build(MODELS["lstm"], SIZE, Tokens(len(tokenizer), *ids), "causal", 0)
    model, modes = head.make_model(backbone, FULL), set()
    layers = [part for part in model.modules() if isinstance(part, torch.nn.RNNBase)]
    for layer in layers:
        layer.register_forward_hook(lambda one, *_: modes.add(one.training))
    changed_words(model, head, Examples(PAIRS, np.array([0, 1])))
    assert len(layers) == 3 and modes == {True}
    assert not any(part.training for part in model.modules())
