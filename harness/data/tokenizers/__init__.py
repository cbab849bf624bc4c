"""AXIS: tokenizers. The declared values, their training on a corpus, and published tokenizers."""

from typing import Literal

from pydantic import Field, model_validator

from harness.core.config import ConfigModel, Count
from harness.data.corpora.sources import Corpus


class Tokenizer(ConfigModel):
    """A tokenizer to train on text."""

    algorithm: Literal[
        "wordpiece", "byte_bpe", "unigram", "bpe", "sentencepiece_bpe", "word", "character"
    ] = "wordpiece"
    """Subwords, the most frequent words, or characters. What `word` does not know is one unknown
    token, whose text is lost."""
    vocab_size: Count = Field(default=30_522, ge=64, le=10_000_000)
    """Size of the vocabulary, special tokens included."""
    lowercase: bool = True
    sentinels: int = Field(default=0, ge=0)
    """Special tokens <extra_id_0>, .. for masked spans, with the last ids of the vocabulary in
    descending order (Raffel et al. 2020: 100)."""
    extra_tokens: tuple[str, ...] = ()
    """Other special tokens, such as the mode tokens of UL2 (Tay et al. 2023, section 3.3)."""
    corpus: Corpus | None = None
    """Text to train on; null: that of pretraining, so that arms with different text have different
    vocabularies."""

    @model_validator(mode="after")
    def _added_fit(self) -> "Tokenizer":
        if len(set(self.extra_tokens)) < len(self.extra_tokens):
            raise ValueError("extra_tokens must be distinct")
        if not all(token and not token.startswith("<extra_id_") for token in self.extra_tokens):
            raise ValueError("extra_tokens must be neither empty nor <extra_id_..>")
        if len(self.added) >= self.vocab_size:
            raise ValueError(
                f"vocab_size must have room for sentinels and extra_tokens, here "
                f"{len(self.added)}, but is {self.vocab_size}"
            )
        return self

    @property
    def added(self) -> tuple[str, ...]:
        """The last tokens of the vocabulary in the order of their ids."""
        return (*self.extra_tokens, *(f"<extra_id_{i}>" for i in reversed(range(self.sentinels))))


TOKENIZERS: dict[str, Tokenizer] = {
    # Devlin et al. 2019, section 3; uncased
    "wordpiece": Tokenizer(algorithm="wordpiece", vocab_size=30_522),
    # Liu et al. 2019, section 4.4
    "byte_bpe": Tokenizer(algorithm="byte_bpe", vocab_size=50_265, lowercase=False),
    # Lan et al. 2020, section 4.1
    "unigram": Tokenizer(algorithm="unigram", vocab_size=30_000),
    # Radford et al. 2018, section 4.1: 40,000 merges of Sennrich et al. 2016
    "bpe": Tokenizer(algorithm="bpe", vocab_size=40_478),
    # Touvron et al. 2023 (Llama 2), section 2.1
    "sentencepiece_bpe": Tokenizer(
        algorithm="sentencepiece_bpe", vocab_size=32_000, lowercase=False
    ),
    # Bahdanau et al. 2015, section 4.1: the 30,000 most frequent words
    "word": Tokenizer(algorithm="word", vocab_size=30_000),
    "character": Tokenizer(algorithm="character", vocab_size=256, lowercase=False),  # ours
}
