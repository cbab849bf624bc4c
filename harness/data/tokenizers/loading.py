"""Loading of a saved tokenizer for the texts of tasks and probes."""

from pathlib import Path

from transformers import PreTrainedTokenizerFast


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """The tokenizer in `folder`, for which "[MASK]" in a text is text, as in pretraining, and not
    the special token."""
    return PreTrainedTokenizerFast.from_pretrained(folder, split_special_tokens=True)
