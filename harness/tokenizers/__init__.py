"""AXIS: how text becomes tokens; trained on the corpus with the `tokenizers` library."""

from typing import Literal

from pydantic import Field

from harness.values import Value


class Tokenizer(Value):
    """A subword vocabulary to learn from the corpus."""

    algorithm: Literal["wordpiece", "byte_bpe", "unigram"] = "wordpiece"
    vocab_size: int = Field(default=30_522, ge=64)
    """Entries, special tokens included."""
    lowercase: bool = True


TOKENIZERS: dict[str, Tokenizer] = {
    # Devlin et al. 2019, section 3; uncased
    "wordpiece": Tokenizer(algorithm="wordpiece", vocab_size=30_522),
    # Liu et al. 2019, section 4.4
    "byte_bpe": Tokenizer(algorithm="byte_bpe", vocab_size=50_265, lowercase=False),
    # Lan et al. 2020, section 4.1
    "unigram": Tokenizer(algorithm="unigram", vocab_size=30_000),
}
