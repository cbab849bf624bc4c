"""Similarity: texts encoded separately, cosine by hand, no training."""

import numpy as np
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from harness.finetuning.adaptation import ADAPTATIONS, Frozen
from harness.finetuning.heads.siamese import Similarity
from harness.finetuning.protocol import Protocol
from harness.finetuning.run import predict
from harness.tasks.examples import Examples
from tests.finetuning.heads.test_conformance import make_backbone, make_task, tokenizer

__all__ = ["tokenizer"]
EXAMPLES = Examples(
    [("the cat", "a dog saw the rain"), ("rain", "rain"), ("in a rain", "the cat saw")],
    np.array([1.0, 5.0, 2.0]),
)


def test_texts_are_encoded_separately(tokenizer: PreTrainedTokenizerFast) -> None:
    head = Similarity(make_task("similarity"), Protocol(max_sequence_length=8), tokenizer)
    data = head.encode(EXAMPLES)
    assert data.first_rows is not None and data.first_rows.tolist() == [0, 2, 4, 6]
    assert tokenizer.decode(data.input_ids[1]) == "[CLS] a dog saw the rain [SEP]"
    assert data.truncated == 0.0
    assert not data.token_type_ids.values.any()


@pytest.mark.parametrize("adaptation", ["full", "frozen"])
@pytest.mark.parametrize(
    ("family", "reading", "pooling"),
    [("bert", "bidirectional", "mean"), ("gpt2", "causal", "native"), ("static", "cbow", "max")],
)
def test_the_cosine_by_hand(
    family: str, reading: str, pooling: str, adaptation: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    protocol = Protocol.model_validate({"pooling": pooling})
    head = Similarity(make_task("similarity"), protocol, tokenizer)
    backbone = make_backbone(family, reading, tokenizer).eval()
    model = head.make_model(backbone, ADAPTATIONS[adaptation])
    found = predict(model, head, head.encode(EXAMPLES), EXAMPLES)
    assert found.dtype == np.float64 and found[1] == pytest.approx(1.0)

    def vector(text: str) -> np.ndarray:
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        types = torch.zeros_like(ids)
        with torch.no_grad():
            states = backbone(ids, token_type_ids=types).last_hidden_state[0].numpy()
        how = {"mean": states.mean(0), "native": states[-1], "max": states.max(0)}
        return np.asarray(how[pooling])

    for cosine, (one, other) in zip(found, EXAMPLES.texts, strict=True):
        a, b = vector(one), vector(other)
        assert cosine == pytest.approx(a @ b / np.sqrt((a @ a) * (b @ b)), abs=1e-5)


def test_nothing_is_trained(tokenizer: PreTrainedTokenizerFast) -> None:
    head = Similarity(make_task("similarity"), Protocol(), tokenizer)
    with pytest.raises(NotImplementedError, match="not trained on"):
        head.loss(torch.zeros(2, 4), {})


@pytest.mark.parametrize("layer", [0, 1, -1])
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_a_layer_of_a_frozen_network_by_hand(
    family: str, layer: int, tokenizer: PreTrainedTokenizerFast
) -> None:
    """Layer 0 are the embeddings, which do not see each other."""
    reading = "causal" if family == "gpt2" else "bidirectional"
    head = Similarity(make_task("similarity"), Protocol(pooling="mean"), tokenizer)
    backbone = make_backbone(family, reading, tokenizer).eval()
    model = head.make_model(backbone, Frozen(layer=layer))
    found = predict(model, head, head.encode(EXAMPLES), EXAMPLES)

    def vector(text: str) -> np.ndarray:
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        with torch.no_grad():
            states = backbone(
                ids, token_type_ids=torch.zeros_like(ids), output_hidden_states=True
            ).hidden_states[layer]
        return np.asarray(states[0].mean(0))

    for cosine, (one, other) in zip(found, EXAMPLES.texts, strict=True):
        a, b = vector(one), vector(other)
        assert cosine == pytest.approx(a @ b / np.sqrt((a @ a) * (b @ b)), abs=1e-5)


def test_a_layer_must_exist(tokenizer: PreTrainedTokenizerFast) -> None:
    head = Similarity(make_task("similarity"), Protocol(), tokenizer)
    backbone = make_backbone("bert", "bidirectional", tokenizer)
    with pytest.raises(ValueError, match=r"evaluate\.adaptation\.layer must be"):
        head.make_model(backbone, Frozen(layer=99))
