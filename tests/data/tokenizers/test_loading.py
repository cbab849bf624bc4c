"""The tokenizer of tasks and probes reads text as pretraining does."""

from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from harness.data.corpora.mixing import Document
from harness.data.corpora.sentence_encoder import SentenceEncoder
from harness.data.tokenizers import Tokenizer
from harness.data.tokenizers.loading import load_tokenizer
from harness.data.tokenizers.schemes import SCHEMES
from harness.data.tokenizers.training import train

TEXTS = ["the cat saw a mask and a sep", "the dog saw the cat"] * 20


@pytest.mark.parametrize("algorithm", sorted(SCHEMES))
def test_names_of_special_tokens_are_text_as_in_pretraining(tmp_path: Path, algorithm: str) -> None:
    train(
        Tokenizer.model_validate({"algorithm": algorithm, "vocab_size": 300}), iter(TEXTS), tmp_path
    )
    plain = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    text = " ".join(["the", *plain.all_special_tokens, "cat"])
    encoder, documents = SentenceEncoder(tmp_path), [Document([text], False)]
    (encoded,) = encoder.documents(documents, encoder.encodings(documents))
    found = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert found == encoded.tokens.tolist()
    assert not set(found) & (set(plain.all_special_ids) - {plain.unk_token_id})
    assert plain(text, add_special_tokens=False)["input_ids"] != found
    # the special tokens of the template are still added
    assert tokenizer("the cat", "the dog") == plain("the cat", "the dog")
