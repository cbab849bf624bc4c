"""Conversion of published tokenizers: missing special tokens and a uniform input format.

After the conversion all tokenizers work alike: a text ends with a separator, and another separator
is between the texts of a pair. Byte-level BPE adds a leading space, as the tokenizers trained here
do and as is usual for tagging with RoBERTa: GPT-2, RoBERTa and BART as published encode the first
word of a text differently from others, and would do so for every word of a pre-tokenised text.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from harness.data.tokenizers.json_file import reason
from harness.data.tokenizers.saved_class import is_overruled

SUBSTITUTES = {
    "pad_token": ("eos_token", "unk_token", "bos_token"),
    "cls_token": ("bos_token", "eos_token", "pad_token"),
    "sep_token": ("eos_token", "bos_token"),
    "mask_token": ("unk_token", "pad_token"),  # used for masked models only, which have one
}
"""Role to the roles whose token replaces a missing one, in order of preference."""
MAX_TOKENS = 2**21
"""More than any vocabulary has; saving a tokenizer takes memory for all numbers it skips."""
ROLES = ("bos_token", "eos_token", "unk_token", *SUBSTITUTES)


def adopt(folder: Path, out: Path) -> None:
    """Converts the tokenizer of the checkpoint in `folder` and saves it to `out`.

    Raises:
        ValueError: no fast tokenizer, or no token to end a text with.
    """
    published = _load(folder)
    backend = Tokenizer.from_str(_with_leading_space(published.backend_tokenizer.to_str()))
    backend.no_padding()
    backend.no_truncation()
    if backend.decoder is None:
        backend.decoder = decoders.Fuse()
    roles = _roles(published, folder)
    if not _ends(backend):
        backend.post_processor = _template(backend, roles["sep_token"])
    extra = [t for t in published.all_special_tokens if t not in roles.values()]
    PreTrainedTokenizerFast(
        tokenizer_object=backend,
        clean_up_tokenization_spaces=False,
        extra_special_tokens=extra,
        **roles,
    ).save_pretrained(out)


def check(folder: Path) -> None:
    """Checks that `adopt` can convert the tokenizer in `folder`.

    Raises:
        ValueError: as `adopt`.
    """
    _roles(_load(folder), folder)


def _load(folder: Path) -> PreTrainedTokenizerFast:
    loader = PreTrainedTokenizerFast if is_overruled(folder) else AutoTokenizer
    try:
        found: Any = loader.from_pretrained(
            folder, use_fast=True, local_files_only=True, trust_remote_code=False
        )
        if isinstance(found, PreTrainedTokenizerFast):
            # fails without the token of unknown text, or those of its template
            found.backend_tokenizer.encode("a ☃")
            found.backend_tokenizer.encode("a ☃", "a")
    except BaseException as error:
        raise ValueError(f"the tokenizer in {folder} cannot be read: {reason(error)}") from error
    if not isinstance(found, PreTrainedTokenizerFast):
        raise ValueError(
            f"the tokenizer in {folder} is a {type(found).__name__}, not a fast tokenizer: convert "
            "it to a tokenizer.json"
        )
    if (largest := max(found.get_vocab().values())) >= MAX_TOKENS:
        raise ValueError(
            f"the tokenizer in {folder} must number its tokens up to {MAX_TOKENS:,}, but has one "
            f"of number {largest:,}"
        )
    return found


def _roles(published: PreTrainedTokenizerFast, folder: Path) -> dict[str, str]:
    """Role to token, substitutes included."""
    roles = {role: str(t) for role in ROLES if (t := getattr(published, role, None)) is not None}
    for role, others in SUBSTITUTES.items():
        taken = [roles[other] for other in others if other in roles]
        if role not in roles and not taken:
            raise ValueError(
                f"the tokenizer in {folder} has no {role}, nor {' or '.join(others)} to replace "
                "it: add one to its tokenizer_config.json"
            )
        roles.setdefault(role, taken[0] if taken else "")
    return roles


LEADING_SPACE = {
    "type": "Metaspace",
    "replacement": " ",
    "prepend_scheme": "always",
    "split": False,
}
"""A step that adds a missing leading space and nothing else."""


def _with_leading_space(content: str) -> str:
    """The JSON of a tokenizer whose byte-level BPE adds a leading space to every text.

    After another step, such as the splitting of LLaMA 3, the byte-level step would add a space to
    each piece of a text; in that case a new first step adds the space.
    """
    tokenizer: dict[str, Any] = json.loads(content)
    steps = list(_steps(tokenizer["pre_tokenizer"], "pretokenizers"))
    later = next((step for step in steps[1:] if step["type"] == "ByteLevel"), None)
    if steps and steps[0]["type"] == "ByteLevel":
        steps[0]["add_prefix_space"] = True
    elif later is None:
        return content
    elif not later["add_prefix_space"] and steps[0] != LEADING_SPACE:
        tokenizer["pre_tokenizer"] = {
            "type": "Sequence",
            "pretokenizers": [LEADING_SPACE, *steps],
        }
    for step in _steps(tokenizer["post_processor"], "processors"):
        if "add_prefix_space" in step:  # character offsets then exclude the space
            step["add_prefix_space"] = True
    return json.dumps(tokenizer)


def _steps(step: dict[str, Any] | None, inside: str) -> Iterator[dict[str, Any]]:
    """The steps in order, with nested sequences flattened."""
    if step and step["type"] == "Sequence":
        for part in step[inside]:
            yield from _steps(part, inside)
    elif step:
        yield step


def _special(backend: Tokenizer) -> tuple[list[str], list[str]]:
    """The special tokens before and after a text."""
    encoded = backend.encode("a")
    marks, tokens = encoded.special_tokens_mask, encoded.tokens
    first = marks.index(0) if 0 in marks else len(marks)
    last = len(marks) - marks[::-1].index(0) if 0 in marks else len(marks)
    return tokens[:first], tokens[last:]


def _ends(backend: Tokenizer) -> bool:
    return bool(_special(backend)[1])


def _template(backend: Tokenizer, end: str) -> processors.TemplateProcessing:
    """A template that keeps the tokens before a text and adds the end token after each text."""
    before = _special(backend)[0]
    start = "".join(f"{token}:0 " for token in before)
    ids = [(token, backend.token_to_id(token)) for token in dict.fromkeys([*before, end])]
    return processors.TemplateProcessing(
        single=f"{start}$A:0 {end}:0",
        pair=f"{start}$A:0 {end}:0 $B:1 {end}:1",
        special_tokens=ids,
    )
