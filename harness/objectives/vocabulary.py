"""What a transform and a layout need to know of a tokenizer."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Vocabulary:
    """Numbers of the special tokens, the form of an input, and where words start."""

    size: int
    pad: int
    cls: int
    sep: int
    mask: int
    special: np.ndarray
    """[size] bool: special tokens, which are never masked and never stand in for another."""
    word_start: np.ndarray
    """[size] bool: tokens that start a word."""
    separators_between: int = 1
    """Separators between the two texts of a pair: 1 for BERT, 2 for RoBERTa."""
    second_type: int = 1
    """Segment number of the second text."""

    @cached_property
    def ordinary(self) -> np.ndarray:
        """Numbers of the tokens that are not special."""
        return np.flatnonzero(~self.special)

    @classmethod
    def load(cls, folder: Path) -> "Vocabulary":
        """Reads the tokenizer in `folder`; pairs take the form that its own template gives them."""
        from transformers import PreTrainedTokenizerFast

        from harness.tokenizers.training import word_starts

        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        special = np.zeros(len(tokenizer), dtype=bool)
        special[tokenizer.all_special_ids] = True
        pair = tokenizer("a", "a", return_token_type_ids=True)
        return cls(
            size=len(tokenizer),
            pad=tokenizer.pad_token_id,
            cls=tokenizer.cls_token_id,
            sep=tokenizer.sep_token_id,
            mask=tokenizer.mask_token_id,
            special=special,
            word_start=word_starts(tokenizer),
            separators_between=tokenizer.num_special_tokens_to_add(pair=True) - 2,
            second_type=pair["token_type_ids"][-1],
        )
