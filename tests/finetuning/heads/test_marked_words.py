"""The head on the words that examples are about: places, features by hand, padding, training, and
what excludes it."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

import harness
from harness.experiment.source import DeclarationError
from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.encoded_cache import encoded
from harness.finetuning.heads import task_head
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.heads.marked_words import WORDS, word_vectors
from harness.finetuning.multitask import TaskData
from harness.finetuning.pooling import pooling_of
from harness.finetuning.protocol import Finetune, Protocol
from harness.finetuning.run import finetune, predict
from harness.plan.plan import Plan
from harness.tasks import TASKS
from harness.tasks.examples import Examples
from harness.tasks.load_examples import load_examples
from harness.tasks.task import Task
from tests.covering import thinned
from tests.finetuning.heads.test_conformance import (
    make_backbone,
    make_examples,
    make_task,
    tokenizer,
    wider,
)

__all__ = ["tokenizer"]
HEADS = (None, "mlp", "bilstm")
NETWORKS = [
    ("bert", "bidirectional"),
    ("xlnet", "permuted"),
    ("gpt2", "causal"),
    ("bart", "encoder_decoder"),
    ("elmo", "bilm"),
    ("bilstm", "bidirectional"),
]


def word_head(
    tokenizer: PreTrainedTokenizerFast, kind: str = "classification", texts: int = 2, **fields: Any
) -> TaskHead:
    fields = {"max_sequence_length": 48, "head_dropout": 0.0, "pooling": "word"} | fields
    task = make_task(kind).model_copy(update={"text_fields": ("a", "b")[:texts]})
    return task_head(task, Protocol.model_validate(fields), tokenizer)


def examples_of_words(kind: str = "classification", texts: int = 2) -> Examples:
    """Examples about the second word of each text."""
    made = make_examples(kind)
    rows = [row[:texts] for row in made.texts]
    spans = [tuple(_second_word(text) for text in row) for row in rows]
    return Examples(rows, made.labels, spans=spans)


def _second_word(text: str) -> tuple[int, int]:
    first, second = text.split()[:2]
    return len(first) + 1, len(first) + 1 + len(second)


@pytest.mark.parametrize("texts", [1, 2])
def test_the_places_are_those_of_the_words(tokenizer: PreTrainedTokenizerFast, texts: int) -> None:
    head, examples = word_head(tokenizer, texts=texts), examples_of_words(texts=texts)
    batch = head.collate(head.encode(examples), np.arange(len(examples)))
    assert batch[WORDS].shape == (len(examples), texts, 2)
    for row, ids, words in zip(examples.texts, batch["input_ids"], batch[WORDS], strict=True):
        read = [str(tokenizer.decode(ids[a:b])).replace(" ", "") for a, b in words]
        assert read == [text.split()[1] for text in row]


def test_a_truncated_word_is_the_first_token(tokenizer: PreTrainedTokenizerFast) -> None:
    head = word_head(tokenizer, max_sequence_length=16)
    text = "the cat " * 20 + "saw"
    data = head.encode(Examples([("a cat", text)], np.array([1]), spans=[((0, 1), (160, 163))]))
    assert head.collate(data, np.array([0]))[WORDS].tolist() == [[[1, 2], [0, 1]]]


def test_a_vector_is_the_mean_over_the_tokens_of_the_word() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 5.0], [5.0, -4.0], [9.0, 9.0]]])
    words = torch.tensor([[[0, 1], [1, 3]]])
    assert word_vectors(states, words).tolist() == [[[1.0, 2.0], [4.0, 0.5]]]


@pytest.mark.parametrize("texts", [1, 2])
def test_outputs_by_hand(tokenizer: PreTrainedTokenizerFast, texts: int) -> None:
    torch.manual_seed(0)
    head, examples = word_head(tokenizer, texts=texts), examples_of_words(texts=texts)
    model: Any = head.make_model(
        make_backbone("bert", "bidirectional", tokenizer), ADAPTATIONS["full"]
    ).eval()
    batch = head.collate(head.encode(examples), np.arange(len(examples)))
    with torch.no_grad():
        found, (states,) = model(batch), model.states(batch)
        for row, words in enumerate(batch[WORDS]):
            u, v = (states[row, first:last].mean(0) for first, last in words[[0, -1]])
            features = torch.cat((u, v, abs(u - v), u * v)) if texts == 2 else u
            expected = model.head.weight @ features + model.head.bias
            torch.testing.assert_close(found[row], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("family", "reading", "network", "adaptation"),
    thinned([(*one, *more) for one in NETWORKS for more in product(HEADS, ("full", "frozen"))], 2),
)
def test_padding_and_other_examples_change_nothing(
    tokenizer: PreTrainedTokenizerFast,
    family: str,
    reading: str,
    network: str | None,
    adaptation: str,
) -> None:
    torch.manual_seed(0)
    head, examples = word_head(tokenizer, head=network), examples_of_words()
    backbone = make_backbone(family, reading, tokenizer)
    model = head.make_model(backbone, ADAPTATIONS[adaptation]).eval()
    data = head.encode(examples)
    batch = head.collate(data, np.arange(data.num_items))
    with torch.no_grad():
        together = model(batch)
        torch.testing.assert_close(model(wider(batch, head.pad_token_id)), together)
        alone = [model(head.collate(data, np.array([item]))) for item in range(data.num_items)]
    torch.testing.assert_close(torch.cat(alone), together, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_one_batch_is_memorised(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path, kind: str
) -> None:
    head, examples = word_head(tokenizer, kind), examples_of_words(kind)
    make_backbone("bert", "bidirectional", tokenizer).save(tmp_path)
    data = head.encode(examples)
    settings = Finetune(learning_rate=5e-3, batch_size=12, epochs=40, weight_decay=0)
    done = finetune(tmp_path, [TaskData(head, data)], settings, seed=0)
    assert done.losses[0] < 0.1
    found = predict(done.model.part(0), head, data, examples)
    np.testing.assert_allclose(found, examples.labels, atol=0.5)


def test_the_place_of_the_word_is_in_the_cache_key(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    head, one = word_head(tokenizer), Examples([("the cat", "a dog")], np.array([0]))
    places = [((0, 3), (0, 1)), ((4, 7), (2, 5))]
    read = [
        encoded(head, Examples(one.texts, one.labels, spans=[span]), tmp_path, tmp_path)
        for span in places
    ]
    assert len({tuple(data.positions.values.tolist()) for data in read if data.positions}) == 2


def test_examples_without_places_are_refused(tokenizer: PreTrainedTokenizerFast) -> None:
    with pytest.raises(ValueError, match="needs the places of words, but examples of toy are"):
        word_head(tokenizer).encode(make_examples("classification"))


def test_whole_texts_are_not_pooled_by_word() -> None:
    with pytest.raises(ValueError, match="is for an output layer on tasks with marked_words"):
        pooling_of("word", "bidirectional", "bert")


def test_the_micro_world_marks_its_words() -> None:
    examples = load_examples(TASKS["micro-wic"], "train")
    assert examples.spans and len(examples.spans) == len(examples) == 1_000
    for texts, spans in zip(examples.texts, examples.spans, strict=True):
        one, other = (text[first:last] for text, (first, last) in zip(texts, spans, strict=True))
        assert one.lower() == other.lower() and one.lower() in ("it", "this")
    assert examples.take(np.array([5, 2])).spans == [examples.spans[5], examples.spans[2]]


def plan_of(**evaluate: Any) -> Plan:
    tasks = {"suite": "micro-superglue-v1", "tasks": ["micro-wic", "micro-boolq"]}
    fields = {
        "name": "words",
        "extends": "microworld_nano_mlm",
        "question": "Is the word pooled?",
        "evaluate": tasks | evaluate,
    }
    return harness.declare(fields).plan


def specs(plan: Plan) -> dict[str, Any]:
    return {
        stage.spec["task"]: stage.spec for stage in plan.stages.values() if stage.kind == "finetune"
    }


def test_the_marks_are_in_the_keys_of_the_runs_that_read_them() -> None:
    assert "marked_words" not in specs(plan_of())["micro-wic"]["content"]
    found = specs(plan_of(protocol={"pooling": "word"}))
    assert found.keys() == {"micro-wic"}  # the other task marks no word
    content = found["micro-wic"]["content"]
    assert content["marked_words"] == {"sentence1": "word", "sentence2": "word"}
    assert Task.model_validate({"name": "micro-wic", **content}) == TASKS["micro-wic"].model_copy(
        update={"chance": None, "ceiling": None, "train_size": 0, "licence": "unknown"}
        | {"citation": ""}
    )


@pytest.mark.parametrize(
    ("field", "evaluate"),
    [
        ("multitask", {"multitask": {}}),
        ("sequential", {"sequential": True}),
        ("intermediate_tasks", {"intermediate_tasks": [{"task": "micro-superglue-rte"}]}),
        ("protocol.perturb", {"protocol": {"perturb": {"typos": 0.1}}}),
        ("protocol.both_orders", {"protocol": {"both_orders": True}}),
        ("protocol.head: bilstm_attention", {"protocol": {"head": "bilstm_attention"}}),
    ],
)
def test_what_moves_words_or_reads_other_tasks_is_refused(
    field: str, evaluate: dict[str, Any]
) -> None:
    protocol = {"pooling": "word", **evaluate.get("protocol", {})}
    with pytest.raises(DeclarationError, match=f"must not be word for .* with {field},"):
        plan_of(tasks=["micro-wic"], **{**evaluate, "protocol": protocol})
