"""Words and characters are recovered with every tokenizer algorithm."""

from pathlib import Path

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.schemes import SCHEMES
from harness.data.tokenizers.training import train
from harness.finetuning.heads.spans import Span, SpanExtraction
from harness.finetuning.heads.tagging import Tagging
from harness.finetuning.protocol import Protocol
from harness.tasks.examples import Answers, Examples, column
from tests.finetuning.heads.test_conformance import make_task

CONTEXT = (
    "The cafe, on 5th Street (in 1999), sold caf\u00e9 cr\u00e8me \u2014 for $3.50!  Not  more."
)


@pytest.fixture(params=SCHEMES)
def tokenizer(request: pytest.FixtureRequest, tmp_path: Path) -> PreTrainedTokenizerFast:
    settings = Tokenizer.model_validate(
        {"algorithm": request.param, "vocab_size": 400, "lowercase": request.param != "byte_bpe"}
    )
    train(settings, iter([CONTEXT, "Who sold it?", "In what year?"] * 9), tmp_path)
    return PreTrainedTokenizerFast.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    "answer",
    ["The cafe", "5th Street", "1999", "caf\u00e9 cr\u00e8me", "$3.50", " Not  more", "more."],
)
def test_an_answer_is_recovered_from_its_target(
    answer: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    head = SpanExtraction(make_task("extraction"), Protocol(max_sequence_length=256), tokenizer)
    labels = column([Answers((answer,), (CONTEXT.index(answer),))])
    examples = Examples([("Who sold it?", CONTEXT)], labels)
    data = head.encode(examples)
    assert data.num_items == 1 and isinstance(data.targets, np.ndarray)
    start, end, unanswerable = data.targets[0].tolist()
    assert 0 < start <= end and not unanswerable
    assert head.predictions([Span(0, 1, start, end)], data, examples).tolist() == [answer.strip()]


def test_every_word_has_one_first_subword(tokenizer: PreTrainedTokenizerFast) -> None:
    words = tuple(CONTEXT.split())
    head = Tagging(make_task("tagging"), Protocol(max_sequence_length=16, doc_stride=4), tokenizer)
    data = head.encode(Examples([words], column([(1,) * len(words)])))
    assert data.positions is not None and data.num_items > 1
    tagged = data.positions.values[data.positions.values >= 0]
    assert tagged.tolist() == list(range(len(words)))
