"""Retrieval: queries and documents encoded once, ranked by the cosine of `Similarity`."""

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from harness.finetuning.adaptation import ADAPTATIONS
from harness.finetuning.heads.retrieval import Retrieval
from harness.finetuning.heads.siamese import Similarity
from harness.finetuning.protocol import Protocol
from harness.finetuning.retrieval_index import AnyIndex, Hnsw, Ivf
from harness.finetuning.run import predict
from harness.tasks.examples import Examples
from harness.tasks.metrics import METRICS
from harness.tasks.metrics.retrieval import NOT_FOUND
from tests.finetuning.heads.test_conformance import make_backbone, make_examples, make_task
from tests.finetuning.heads.test_conformance import tokenizer as tokenizer

PROTOCOL = Protocol(pooling="mean", max_sequence_length=24)


def test_a_document_of_two_queries_is_encoded_once(tokenizer: PreTrainedTokenizerFast) -> None:
    head = Retrieval(make_task("retrieval"), PROTOCOL, tokenizer)
    data = head.encode(Examples([("cat", "a dog"), ("dog", "a dog"), ("rain", "in")], np.ones(3)))
    texts = [
        tokenizer.decode(row, skip_special_tokens=True)
        for row in map(data.input_ids.__getitem__, range(5))
    ]
    assert texts == ["cat", "dog", "rain", "a dog", "in"] and data.num_items == 5


@pytest.mark.parametrize(("family", "reading"), [("bert", "bidirectional"), ("gpt2", "causal")])
def test_scores_are_those_of_all_pairs(
    family: str, reading: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    """As `Similarity` with every document listed for every query."""
    examples = make_examples("retrieval")
    model = Retrieval(make_task("retrieval"), PROTOCOL, tokenizer).make_model(
        make_backbone(family, reading, tokenizer), ADAPTATIONS["full"]
    )
    head = Retrieval(make_task("retrieval"), PROTOCOL, tokenizer)
    found = predict(model, head, head.encode(examples), examples)
    queries = [query for query, _ in examples.texts]
    documents = [text for _, text in examples.texts]
    pairs = Examples([(q, d) for q in queries for d in documents], np.eye(len(queries)).ravel())
    listing = Similarity(make_task("similarity"), PROTOCOL, tokenizer)
    cosines = predict(model, listing, listing.encode(pairs), pairs)
    every = np.repeat([str(row) for row in range(len(queries))], len(documents)).astype(object)
    own = np.array([str(row) for row in range(len(queries))], dtype=object)
    for name in ("ndcg_at_10", "mrr", "recall_at_5"):
        wanted = METRICS[name](pairs.labels, cosines, every)
        assert METRICS[name](np.ones(len(queries)), found, own) == pytest.approx(wanted)
    assert 0 < METRICS["mrr"](np.ones(len(queries)), found, own) < 1


def test_a_query_finds_itself(tokenizer: PreTrainedTokenizerFast) -> None:
    texts = [query for query, _ in make_examples("retrieval").texts]
    examples = Examples([(text, text) for text in texts], np.ones(len(texts)))
    head = Retrieval(make_task("retrieval"), PROTOCOL, tokenizer)
    backbone = make_backbone("bert", "bidirectional", tokenizer)
    model = head.make_model(backbone, ADAPTATIONS["full"])
    found = predict(model, head, head.encode(examples), examples)
    assert [before for before, _ in found] == [0] * len(texts)


@pytest.mark.parametrize("index", [Ivf(lists=2, probes=2), Hnsw(ef_search=100)])
def test_an_index_that_finds_all_gives_the_places_of_exact_search(
    index: AnyIndex, tokenizer: PreTrainedTokenizerFast
) -> None:
    given = make_examples("retrieval")
    # Each query with a document that is left out: with it, the list of the index has one more.
    texts = [(query, side) for query, text in given.texts for side in (text, query)]
    examples = Examples([*texts], np.tile([1.0, -1.0], len(given)))
    backbone = make_backbone("bert", "bidirectional", tokenizer)
    found = {}
    for one in (None, index.model_copy(update={"top_k": len(given) * 2})):
        protocol = PROTOCOL.model_copy(update={"index": one})
        head = Retrieval(make_task("retrieval"), protocol, tokenizer)
        model = head.make_model(backbone, ADAPTATIONS["full"])
        found[one is None] = predict(model, head, head.encode(examples), examples)[::2].tolist()
    assert found[True] == found[False] and len(set(found[True])) > 2


def test_an_index_finds_no_more_than_top_k(tokenizer: PreTrainedTokenizerFast) -> None:
    examples = Examples([("cat", f"dog {word}") for word in "abcdefghijklmnop"], np.ones(16))
    protocol = PROTOCOL.model_copy(update={"index": Hnsw(top_k=10, ef_search=16)})
    head = Retrieval(make_task("retrieval"), protocol, tokenizer)
    backbone = make_backbone("bert", "bidirectional", tokenizer)
    model = head.make_model(backbone, ADAPTATIONS["full"])
    found = predict(model, head, head.encode(examples), examples)
    assert sorted(before for before, _ in found)[9] < 10 and list(found).count(NOT_FOUND) == 6
