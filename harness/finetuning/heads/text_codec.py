"""Texts to tokens and back, for answers in words.

Every sentence of the embedded world comes back as it was, whatever the algorithm; what a vocabulary
has no characters for comes back as its token for unknown words.
"""

from collections.abc import Sequence

from transformers import PreTrainedTokenizerFast

from harness.data.tokenizers.template import around

Tokens = list[int]


class TextCodec:
    """A tokenizer without its special tokens.

    Attributes:
        before, after: special tokens around a text that is read, as its own template has them.
        end: what ends a text that is written.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        self.special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        self.before, self.after = around(tokenizer)
        self.end = int(tokenizer.sep_token_id)

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text."""
        if not texts:  # which the tokenizer does not take
            return []
        tokens: list[Tokens] = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return tokens

    def tokens_of_parts(self, sources: Sequence[Sequence[str]]) -> list[list[Tokens]]:
        """Tokens part by part, which are those of the whole: words are cut one by one."""
        tokens = iter(self.tokens([part for parts in sources for part in parts]))
        return [[next(tokens) for _ in parts] for parts in sources]

    def framed(self, tokens: Tokens) -> Tokens:
        """A text as it is read."""
        return [*self.before, *tokens, *self.after]

    def before_the_end(self, row: Tokens) -> Tokens:
        """What was written; of special tokens only those for unknown words stay, by which the names
        of classes may differ."""
        length = row.index(self.end) if self.end in row else len(row)
        return [token for token in row[:length] if token not in self.special]

    def text(self, tokens: Tokens, with_unknown: bool = False) -> str:
        """The text of tokens, which has no special ones but, if asked for, unknown words."""
        text = self.tokenizer.decode(
            tokens, skip_special_tokens=not with_unknown, clean_up_tokenization_spaces=False
        )
        return str(text).strip()

    def spelled(self, text: str) -> str:
        """A text as it comes back, unknown words included."""
        return self.text(self.tokens([text])[0], with_unknown=True)

    def distinct(self, names: Sequence[str], task: str) -> list[Tokens]:
        """Tokens of each name of a class or tag.

        Raises:
            ValueError: two of them are alike, or one has none.
        """
        spelled = self.tokens(names)
        seen: dict[tuple[int, ...], str] = {(): ""}
        for name, tokens in zip(names, spelled, strict=True):
            other = seen.setdefault(tuple(tokens), name)
            if other is not name:
                raise ValueError(
                    f"{task} cannot be answered in words, for the tokenizer writes {other!r} and "
                    f"{name!r} alike"
                )
        return spelled


def fit(parts: Sequence[Tokens], room: int) -> tuple[Tokens, bool]:
    """The parts one after the other in at most `room` tokens, cut at the end of whichever is the
    longest; and whether they were cut."""
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
