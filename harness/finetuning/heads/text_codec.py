"""Encoding and decoding of texts for text output.

Sentences of the microworld survive a round trip with every tokenizer algorithm; characters outside
the vocabulary are decoded as the unknown token.
"""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers.training import around

Tokens = list[int]


class TextCodec:
    """A tokenizer without its special tokens.

    Attributes:
        before: special tokens of the template before a source.
        after: special tokens of the template after a source.
        end: token that ends a target.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        self.special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        self.before, self.after = around(tokenizer)
        self.end = int(tokenizer.sep_token_id)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text."""
        if not texts:  # tokenizers reject an empty list
            return []
        tokens: list[Tokens] = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return tokens

    def tokens_of_parts(self, sources: Sequence[Sequence[str]]) -> list[list[Tokens]]:
        """Tokens of each part of each source; joined they equal the tokens of the whole source, as
        words are tokenized one by one."""
        tokens = iter(self.tokens([part for parts in sources for part in parts]))
        return [[next(tokens) for _ in parts] for parts in sources]

    def framed(self, tokens: Tokens) -> Tokens:
        """A source with the special tokens of the template."""
        return [*self.before, *tokens, *self.after]

    def before_the_end(self, row: Tokens) -> Tokens:
        """Generated tokens up to the end token, without special tokens other than the unknown
        token, by which class names may differ."""
        length = row.index(self.end) if self.end in row else len(row)
        return [token for token in row[:length] if token not in self.special]

    def text(self, tokens: Tokens, with_unknown: bool = False) -> str:
        """Decoded text without special tokens, with or without unknown tokens."""
        text = self.tokenizer.decode(
            tokens, skip_special_tokens=not with_unknown, clean_up_tokenization_spaces=False
        )
        return str(text).strip()

    def round_trip(self, text: str) -> str:
        """A text encoded and decoded, including unknown tokens."""
        return self.text(self.tokens([text])[0], with_unknown=True)

    def distinct(self, names: Sequence[str], task: str) -> list[Tokens]:
        """Tokens of each name of a class or tag.

        Raises:
            ValueError: two names have the same tokens, or one has none.
        """
        encoded = self.tokens(names)
        seen: dict[tuple[int, ...], str] = {(): ""}
        for name, tokens in zip(names, encoded, strict=True):
            other = seen.setdefault(tuple(tokens), name)
            if other is not name:
                raise ValueError(
                    f"{task} cannot be answered as text: the tokenizer has the same tokens for "
                    f"{other!r} and {name!r}"
                )
        return encoded


def fit(parts: Sequence[Tokens], room: int) -> tuple[Tokens, bool]:
    """The concatenated parts, cut to `room` tokens at the end of the longest part; and whether they
    were cut."""
    lengths = [len(part) for part in parts]
    over = sum(lengths) - room
    was_cut = over > 0
    while over > 0:
        longest = max(range(len(lengths)), key=lengths.__getitem__)
        others = [length for i, length in enumerate(lengths) if i != longest]
        less = min(over, max(1, lengths[longest] - max(others, default=0)))
        lengths[longest] -= less
        over -= less
    return [t for part, n in zip(parts, lengths, strict=True) for t in part[:n]], was_cut
