"""Every head under every reading: learns, repeats, ignores padding, and predicts the right type."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from harness.core.compute import Compute
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.training import train
from harness.finetuning import run
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.compatibility import OF_TOKENS
from harness.finetuning.heads import HEADS, task_head
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.finetuning.multitask import TaskData
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune, predict, prepared_model
from harness.models import FAMILIES, MODELS, Size
from harness.models.backbone import Backbone
from harness.models.blueprints import Tokens
from harness.models.build import build
from harness.tasks.examples import Answers, Examples, Mention, column
from harness.tasks.task import COMPARED, Task
from harness.tasks.unlabelled import unlabelled
from tests.covering import thinned

SIZE = Size(num_layers=2, hidden_size=32, num_heads=2, intermediate_size=128)
NETWORKS = [
    ("bert", "bidirectional"),
    ("bert", "prefix"),
    ("bert", "right_to_left"),
    ("xlnet", "permuted"),
    ("gpt2", "causal"),
    ("bart", "encoder_decoder"),
    ("t5", "encoder_decoder"),
    ("elmo", "bilm"),
    ("two_way_gpt2", "bilm"),
    ("lstm", "causal"),
    ("bilstm", "bidirectional"),
    ("dan", "bidirectional"),
    ("static", "cbow"),
    ("static", "skipgram"),
]
READINGS = {reading for family in FAMILIES.values() for reading in family.representations}
TRAINED_KINDS = [kind for kind in HEADS if kind not in COMPARED]
WORDS = "the cat saw a dog in rain aingat".split()
LABELS = {"classification": ("no", "yes"), "tagging": ("O", "B-X", "I-X")}

EQUAL_SPANS = (("coreference", "static"), ("coreference", "dan"))
"""Equal words, or all of a text, have equal scores, so that rounding decides which spans are
kept."""


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> PreTrainedTokenizerFast:
    folder = tmp_path_factory.mktemp("tokenizer")
    train(Tokenizer(vocab_size=64), iter(["the cat saw a dog in rain"] * 9), folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


def make_task(kind: str) -> Task:
    fields: dict[str, Any] = {
        "name": "toy",
        "kind": kind,
        "data": {"source": "microworld", "generator": "toy"},
        "text_fields": ("a", "b"),
        "labels": LABELS.get(kind, ()),
        "metrics": ("accuracy",),
    }
    return Task.model_validate(fields)


def make_examples(kind: str, n: int = 12) -> Examples:
    """Pairs of texts of different lengths, with labels that can only be memorised."""
    rng = np.random.default_rng(0)

    def text(low: int = 2, high: int = 9) -> list[str]:
        return [str(word) for word in rng.choice(WORDS, rng.integers(low, high))]

    pairs: list[tuple[str, ...]] = [(" ".join(text()), " ".join(text(4, 30))) for _ in range(n)]
    if kind == "tagging":
        sentences = [tuple(text(3, 30)) for _ in range(n)]
        # By the word, so that static vectors can learn it.
        tags = [tuple(WORDS.index(word) % 3 for word in words) for words in sentences]
        return Examples(sentences, column(tags))
    if kind == "coreference":
        documents = [tuple(" ".join(text(3, 12)) for _ in range(4)) for _ in range(n)]
        return Examples(documents, column([_equal_words(one) for one in documents]))
    if kind == "extraction":
        words = [context.split() for _, context in pairs]
        answers = [Answers((row[2],), (len(" ".join(row[:2])) + 1,)) for row in words]
        answers[::4] = [Answers((), ())] * len(answers[::4])
        return Examples(pairs, column(answers))
    if kind == "multiple_choice":
        choices = [tuple(" ".join(text()) for _ in range(2 + i % 3)) for i in range(n)]
        return Examples(pairs, np.arange(n) % 2, choices)
    labels = np.arange(n) % 2
    return Examples(pairs, labels if kind == "classification" else labels.astype(np.float64))


def _equal_words(sentences: tuple[str, ...]) -> tuple[Mention, ...]:
    """Mentions of two words of a sentence, in three entities by the first word."""
    words = " ".join(sentences).split(" ")
    ends = set(np.cumsum([len(one.split(" ")) for one in sentences]) - 1)
    return tuple(
        Mention(WORDS.index(words[i]), i, i + 1)
        for i in range(len(words))
        if words[i] in WORDS[:3] and i not in ends
    )


def make_head(kind: str, tokenizer: PreTrainedTokenizerFast, **protocol: Any) -> TaskHead:
    fields = {"max_sequence_length": 24, "doc_stride": 4, "head_dropout": 0.0} | protocol
    return task_head(make_task(kind), Protocol.model_validate(fields), tokenizer)


def make_backbone(family: str, reading: str, tokenizer: PreTrainedTokenizerFast) -> Backbone:
    wide = {"initializer_range": 0.1, "max_position": 64, "dropout": 0.0}
    if family == "bert":
        wide["attention_dropout"] = 0.0
    ids = (tokenizer.pad_token_id, tokenizer.cls_token_id, tokenizer.sep_token_id)
    tokens = Tokens(len(tokenizer), *ids, pair_format=True)
    return build(MODELS[family].model_copy(update=wide), SIZE, tokens, reading, seed=0)


def wider(batch: Batch, pad: int, extra: int = 3) -> Batch:
    """The batch with more padding, of values that would change the result if used."""
    fill = {"input_ids": pad, "labels": -100}
    more = {}
    for name, value in batch.items():
        if value.ndim == 2 and value.shape[1] == batch["input_ids"].shape[1]:
            more[name] = torch.nn.functional.pad(value, (0, extra), value=fill.get(name, 0))
        else:
            more[name] = value
    return more


def same(first: np.ndarray, second: np.ndarray) -> bool:
    return first.dtype == second.dtype and first.tolist() == second.tolist()


REMAINING = {"causal": 0.7, "encoder_decoder": 0.7, "bilm": 0.5, "cbow": 0.6, "skipgram": 0.6}
"""Share of the initial loss that may remain: static embeddings ignore positions, causal models do
not see later tokens, and recurrent ones learn slowly."""
LEARNING_RATES = {"cbow": 0.1, "skipgram": 0.1}
"""Static embeddings learn one word at a time."""
SLOW = ("elmo", "bilstm", "dan")
"""Families that need twice the updates or more."""

UNDER_NETWORKS = pytest.mark.parametrize(
    ("kind", "network"), thinned([(kind, network) for kind in HEADS for network in NETWORKS], 4)
)
"""Every kind with four networks, and every network with four kinds."""


def test_all_representations_are_covered() -> None:
    assert {reading for _, reading in NETWORKS} | {"bidirectional"} == READINGS


@UNDER_NETWORKS
def test_padding_changes_nothing(
    kind: str, network: tuple[str, str], tokenizer: PreTrainedTokenizerFast
) -> None:
    family, reading = network
    head, examples = make_head(kind, tokenizer), make_examples(kind)
    data = head.encode(examples)
    for adaptation in ("full", "frozen"):
        torch.manual_seed(0)
        model = head.make_model(
            make_backbone(family, reading, tokenizer), ADAPTATIONS[adaptation]
        ).eval()
        batch = head.collate(data, np.arange(data.num_items))
        padded = wider(batch, head.pad_token_id)
        with torch.no_grad():
            if kind not in COMPARED:
                losses = [head.loss(model(one), one) for one in (batch, padded)]
                torch.testing.assert_close(losses[0], losses[1], atol=1e-5, rtol=1e-4)
            together = head.predict_batch(model, padded)
            alone = [
                head.predict_batch(model, head.collate(data, np.array([item])))[0]
                for item in range(data.num_items)
            ]
        if kind == "extraction":  # of equal scores, rounding decides
            scores = [[(one.null, one.best) for one in read] for read in (together, alone)]
            np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)
            continue
        if (kind, family) in EQUAL_SPANS:
            continue
        read = [head.predictions(one, data, examples) for one in (together, alone)]
        if read[0].dtype == np.float64:
            np.testing.assert_allclose(read[0], read[1], atol=1e-5)
        else:
            assert same(read[0], read[1])


@UNDER_NETWORKS
def test_neither_batch_size_nor_order_changes_predictions(
    kind: str,
    network: tuple[str, str],
    tokenizer: PreTrainedTokenizerFast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    family, reading = network
    head, examples = make_head(kind, tokenizer), make_examples(kind)
    torch.manual_seed(0)
    model = head.make_model(make_backbone(family, reading, tokenizer), ADAPTATIONS["full"])

    def predicted(batch_size: int, order: np.ndarray) -> np.ndarray:
        monkeypatch.setattr(run, "MAX_ITEMS", batch_size)
        some = examples.take(order)
        found = np.empty(len(order), dtype=object)
        found[order] = column(list(predict(model, head, head.encode(some), some)))
        return found

    if (kind, family) in EQUAL_SPANS:
        return
    numbers = np.arange(len(examples))
    expected = predicted(128, numbers)
    for batch_size, order in ((1, numbers), (5, numbers[::-1]), (128, np.roll(numbers, 5))):
        found = predicted(batch_size, order)
        if isinstance(expected[0], float):
            np.testing.assert_allclose(list(found), list(expected), atol=1e-5)
        else:
            assert list(found) == list(expected)


@pytest.mark.parametrize("kind", ["extraction", "tagging"])
@pytest.mark.parametrize(("family", "reading"), NETWORKS)
def test_padding_does_not_enter_the_statistics(
    kind: str, family: str, reading: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    head = make_head(kind, tokenizer)
    data = head.encode(make_examples(kind))
    model = head.make_model(
        make_backbone(family, reading, tokenizer), ADAPTATIONS["frozen"]
    ).train()
    batch = head.collate(data, np.arange(data.num_items))
    padded = wider(batch, head.pad_token_id)
    torch.testing.assert_close(
        head.loss(model(batch), batch), head.loss(model(padded), padded), atol=1e-5, rtol=1e-4
    )


MEMORISED = [
    pytest.param(
        kind, *network, marks=[pytest.mark.campaign] * (kind != "classification" and place > 0)
    )
    for kind in TRAINED_KINDS
    for place, network in enumerate(NETWORKS)
    if network[0] != "dan" or kind not in OF_TOKENS
]
"""Every kind with the first network and every network with one kind; all others take minutes."""


@pytest.mark.parametrize(("kind", "family", "reading"), MEMORISED)
def test_one_batch_is_memorised(
    kind: str, family: str, reading: str, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    head, examples = make_head(kind, tokenizer), make_examples(kind)
    make_backbone(family, reading, tokenizer).save(tmp_path)
    data = head.encode(examples)
    rate = LEARNING_RATES.get(reading, 5e-3)
    quick = (family, reading) == NETWORKS[0] or (kind == "classification" and family not in SLOW)
    epochs = 30 if quick else 120 if family in SLOW else 60
    settings = Finetune(
        learning_rate=rate, batch_size=data.num_items, epochs=epochs, weight_decay=0
    )
    before = prepared_model(tmp_path, head, ADAPTATIONS["full"], 0, settings).train()
    batch = head.collate(data, np.arange(data.num_items))
    first = head.loss(before(batch), batch).item()
    done = finetune(tmp_path, [TaskData(head, data)], settings, seed=0)
    assert done.losses[0] < REMAINING.get(reading, 0.2) * first


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("adaptation", ["full", "frozen"])
def test_bf16_is_near_float32(
    kind: str, adaptation: str, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    """Losses and predictions: rounding to 8 bits of mantissa leaves about 0.4 % of each operand."""
    head, examples = make_head(kind, tokenizer), make_examples(kind)
    make_backbone("bert", "bidirectional", tokenizer).save(tmp_path)
    data, method = head.encode(examples), ADAPTATIONS[adaptation]
    settings = Finetune(learning_rate=1e-4, batch_size=data.num_items, epochs=2)
    losses, found = [], []
    for precision in ("32-true", "bf16-mixed"):
        compute = Compute(precision=precision)
        if kind in COMPARED:
            model: Any = prepared_model(tmp_path, head, method, 0, settings)
        else:
            tasks = [TaskData(head, data)]
            run = finetune(tmp_path, tasks, settings, seed=0, adaptation=method, compute=compute)
            losses.append(run.losses[0])
            model = run.model.part(0)
        assert next(model.parameters()).dtype == torch.float32
        found.append(predict(model, head, data, examples, precision))
    assert losses[:1] == pytest.approx(losses[1:], rel=0.03)
    assert losses[:1] != losses[1:] or kind in COMPARED
    assert found[0].dtype == found[1].dtype and found[0].shape == found[1].shape
    if kind in ("regression", "similarity"):
        np.testing.assert_allclose(found[0], found[1], atol=0.03)
        assert not same(found[0], found[1])


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("adaptation", ["full", "frozen"])
def test_the_seed_decides(
    kind: str, adaptation: str, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    head, examples = make_head(kind, tokenizer, head_dropout=0.1), make_examples(kind)
    make_backbone("bert", "bidirectional", tokenizer).save(tmp_path)
    data = head.encode(examples)
    settings = Finetune(learning_rate=1e-3, batch_size=8, epochs=2)

    def trained(seed: int) -> tuple[float, np.ndarray]:
        if kind in COMPARED:
            model = prepared_model(tmp_path, head, ADAPTATIONS[adaptation], seed, settings)
            return 0.0, predict(model, head, data, examples)
        tasks, method = [TaskData(head, data)], ADAPTATIONS[adaptation]
        done = finetune(tmp_path, tasks, settings, seed=seed, adaptation=method)
        return done.losses[0], predict(done.model.part(0), head, data, examples)

    (loss, first), (again, second) = trained(0), trained(0)
    assert loss == again and same(first, second)
    if kind not in COMPARED:
        assert trained(1)[0] != loss


@pytest.mark.parametrize("kind", HEADS)
def test_predictions_have_their_type_and_survive_a_file(
    kind: str, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    head, examples = make_head(kind, tokenizer), make_examples(kind)
    data = head.encode(examples)
    data.save(tmp_path / "data.npz")
    stored = Encoded.load(tmp_path / "data.npz")
    model = head.make_model(make_backbone("bert", "bidirectional", tokenizer), ADAPTATIONS["full"])
    predictions = predict(model, head, stored, examples)
    assert same(predictions, predict(model, head, data, examples))
    assert predictions.shape == (len(examples),)
    for prediction, texts in zip(predictions, examples.texts, strict=True):
        if kind == "extraction":
            assert isinstance(prediction, str) and prediction in texts[1]
        elif kind == "tagging":
            assert isinstance(prediction, tuple) and len(prediction) == len(texts)
            assert all(type(tag) is int and 0 <= tag < 3 for tag in prediction)
        elif kind == "coreference":
            assert isinstance(prediction, tuple)
            assert all(type(n) is int and n >= 0 for mention in prediction for n in mention)
        elif kind == "retrieval":
            assert isinstance(prediction, tuple) and len(prediction) == 2
            assert all(type(n) is int for n in prediction) and 0 <= sum(prediction) < len(examples)
        else:
            assert isinstance(prediction, np.float64)


def test_decoder_states_are_aligned_with_tokens(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    """Without cross-attention, a decoder's outputs at a token depend on that token, not on later
    ones."""
    head = make_head("tagging", tokenizer)
    backbone = make_backbone("bart", "encoder_decoder", tokenizer)
    for layer in backbone.network.get_decoder().layers:
        torch.nn.init.zeros_(layer.encoder_attn.out_proj.weight)
    model = head.make_model(backbone, ADAPTATIONS["full"]).eval()
    data = head.encode(Examples([("the", "cat", "saw", "a", "dog")], column([(0,) * 5])))
    batch = head.collate(data, np.array([0]))
    ids = data.input_ids.values.copy()
    ids[3] = ids[1]
    other = replace(data, input_ids=Ragged(ids, data.input_ids.offsets))
    with torch.no_grad():
        gap = (model(batch) - model(head.collate(other, np.array([0])))).abs().amax(-1)[0]
    assert (gap[:3] < 1e-6).all() and (gap[3:] > 1e-4).all()


@pytest.mark.parametrize("kind", [kind for kind in HEADS if kind != "retrieval"])
def test_labels_do_not_enter_predictions(kind: str, tokenizer: PreTrainedTokenizerFast) -> None:
    head, labelled = make_head(kind, tokenizer), make_examples(kind)
    model = head.make_model(make_backbone("bert", "bidirectional", tokenizer), ADAPTATIONS["full"])
    examples = unlabelled(head.task, labelled.texts, labelled.choices)
    first, second = (predict(model, head, head.encode(one), one) for one in (labelled, examples))
    assert same(first, second)
