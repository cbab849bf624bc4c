"""A tokenizer.json as the package `tokenizers` reads it, without transformers."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PANIC = "PanicException"
"""What Rust's code raises where it did not expect an error: no `Exception`, and not importable."""


def read(file: Path) -> "Tokenizer":
    """The tokenizer in a file.

    Raises:
        ValueError: the package cannot read it, as one that is damaged or of a later version.
    """
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(file))
    except BaseException as error:
        raise ValueError(f"{file} cannot be read: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """The first line of an error of the package, which raises many types for malformed files.

    Raises:
        BaseException: `error` itself, if it is of no such type, as of Ctrl-C.
    """
    if not isinstance(error, Exception) and type(error).__name__ != PANIC:
        raise error
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
