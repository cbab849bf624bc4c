"""Someone else's tokenizer as one that the harness can use: every role filled, every input ended.

What is missing is added once, here, so that nothing downstream need ask whose tokenizer it reads:
a text ends with a separator, and another stands between the texts of a pair. A text of byte-level
BPE gets a leading space, as is usual where RoBERTa tags words, and as our own vocabularies have it:
GPT-2, RoBERTa and BART as published spell a first word otherwise than any later one, and words
given one by one would be spelled as if they were one.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

STAND_INS = {
    "pad_token": ("eos_token", "unk_token", "bos_token"),
    "cls_token": ("bos_token", "eos_token", "pad_token"),
    "sep_token": ("eos_token", "bos_token"),
    "mask_token": ("unk_token", "pad_token"),  # asked of masked models only, and those have one
}
"""Role to the roles whose token takes it where a tokenizer has none for it."""
ROLES = ("bos_token", "eos_token", "unk_token", *STAND_INS)


def adopt(folder: Path, out: Path) -> None:
    """Writes the tokenizer of the checkpoint in `folder` to `out`, completed.

    Raises:
        ValueError: there is no fast tokenizer, or it has no token to end a text with.
    """
    theirs = _load(folder)
    backend = Tokenizer.from_str(_with_leading_space(theirs.backend_tokenizer.to_str()))
    backend.no_padding()
    backend.no_truncation()
    if backend.decoder is None:
        backend.decoder = decoders.Fuse()
    roles = _roles(theirs, folder)
    if not _ends(backend):
        backend.post_processor = _template(backend, roles["sep_token"])
    extra = [t for t in theirs.all_special_tokens if t not in roles.values()]
    PreTrainedTokenizerFast(
        tokenizer_object=backend,
        clean_up_tokenization_spaces=False,
        extra_special_tokens=extra,
        **roles,
    ).save_pretrained(out)


def check(folder: Path) -> None:
    """Refuses what `adopt` would, and writes nothing.

    Raises:
        ValueError: as `adopt`.
    """
    _roles(_load(folder), folder)


def _load(folder: Path) -> PreTrainedTokenizerFast:
    try:
        found: Any = AutoTokenizer.from_pretrained(
            folder, use_fast=True, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:  # whatever a file of another format lets a converter raise
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ValueError(f"the tokenizer in {folder} cannot be read: {reason}") from error
    if not isinstance(found, PreTrainedTokenizerFast):
        raise ValueError(
            f"the tokenizer in {folder} is a {type(found).__name__}, which is not a fast one: "
            "convert it, so that there is a tokenizer.json"
        )
    return found


def _roles(theirs: PreTrainedTokenizerFast, folder: Path) -> dict[str, str]:
    """Role to token, the stand-ins included."""
    roles = {role: str(t) for role in ROLES if (t := getattr(theirs, role, None)) is not None}
    for role, others in STAND_INS.items():
        taken = [roles[other] for other in others if other in roles]
        if role not in roles and not taken:
            raise ValueError(
                f"the tokenizer in {folder} has no {role}, nor {' or '.join(others)} to take its "
                "place: add one to its tokenizer_config.json"
            )
        roles.setdefault(role, taken[0] if taken else "")
    return roles


LEADING_SPACE = {
    "type": "Metaspace",
    "replacement": " ",
    "prepend_scheme": "always",
    "split": False,
}
"""Puts a space before a text that has none, and does nothing else."""


def _with_leading_space(content: str) -> str:
    """A tokenizer's JSON, in which byte-level BPE starts every text with a space.

    After another step, such as the splitting of LLaMA 3, the byte-level step would put a space
    before each piece of a text; there, the space is put before the first step.
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
        if "add_prefix_space" in step:  # for places of words in the text: the space is not in it
            step["add_prefix_space"] = True
    return json.dumps(tokenizer)


def _steps(step: dict[str, Any] | None, inside: str) -> Iterator[dict[str, Any]]:
    """One after the other, out of sequences of them."""
    if step and step["type"] == "Sequence":
        for part in step[inside]:
            yield from _steps(part, inside)
    elif step:
        yield step


def _special(backend: Tokenizer) -> tuple[list[str], list[str]]:
    """Special tokens before and after a text."""
    encoded = backend.encode("a")
    marks, tokens = encoded.special_tokens_mask, encoded.tokens
    first = marks.index(0) if 0 in marks else len(marks)
    last = len(marks) - marks[::-1].index(0) if 0 in marks else len(marks)
    return tokens[:first], tokens[last:]


def _ends(backend: Tokenizer) -> bool:
    return bool(_special(backend)[1])


def _template(backend: Tokenizer, end: str) -> processors.TemplateProcessing:
    """What stood before a text stays; the end token follows each text."""
    before = _special(backend)[0]
    start = "".join(f"{token}:0 " for token in before)
    numbers = [(token, backend.token_to_id(token)) for token in dict.fromkeys([*before, end])]
    return processors.TemplateProcessing(
        single=f"{start}$A:0 {end}:0",
        pair=f"{start}$A:0 {end}:0 $B:1 {end}:1",
        special_tokens=numbers,
    )
