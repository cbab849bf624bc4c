"""The special tokens that a tokenizer adds to a text."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def around(tokenizer: "PreTrainedTokenizerFast") -> tuple[list[int], list[int]]:
    """Ids of the special tokens before and after a single text."""
    plain: list[int] = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole: list[int] = tokenizer("a")["input_ids"]
    size, num_special = len(plain), len(whole) - len(plain)
    first = next(i for i in range(num_special + 1) if whole[i : i + size] == plain)
    return whole[:first], whole[first + size :]
