"""Tokenizers that do not fit the text: unknown tokens, and words in many pieces."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.data.tokenizers import json_file
from harness.experiment.arms import Arm
from harness.models.checkpoints import files
from harness.plan.plan import Plan
from harness.tasks.text_sample import sample_texts

FEW_UNKNOWN = 0.01
"""Share of unknown tokens up to which there is no warning."""
MANY_PIECES = 3.0
"""Tokens per word up to which there is no warning; ours."""
SAMPLE = 100
"""Train examples per task whose words are counted."""


def unfit_tokenizer(plan: Plan) -> Iterator[str]:
    """Tokenizers that do not know many tokens of the text of pretraining, once it is tokenized; and
    those of checkpoints that do not know, or split into many pieces, the words of the tasks."""
    for arm in plan.arms:
        yield from _unknown(arm, "text", plan.unknown_shares.get(arm.name, 0.0))
        if counted := _of_checkpoint(arm):
            pieces, share = counted
            yield from _unknown(arm, "tasks", share)
            if pieces > MANY_PIECES:
                yield (
                    f"{arm.name}: the checkpoint's tokenizer splits a word of the tasks into "
                    f"{pieces:.1f} pieces on average (fertility, Rust et al. 2021), more than "
                    f"{MANY_PIECES:g}, as it was made for other text; take a checkpoint of such "
                    "text, or see that evaluate.protocol.max_sequence_length is enough"
                )


def _unknown(arm: Arm, where: str, share: float) -> Iterator[str]:
    if share > FEW_UNKNOWN:
        yield (
            f"{arm.name}: {100 * share:.2g} % of the tokens of its {where} are unknown to its "
            "tokenizer, so that their words are lost; take a tokenizer made for such text, or one "
            "of bytes (byte_bpe), which knows every text"
        )


def _of_checkpoint(arm: Arm) -> tuple[float, float] | None:
    """Tokens per word and share of unknown tokens on a sample of the tasks; null for other arms,
    tasks that cannot be sampled, and without a tokenizer.json on this machine."""
    model = arm.pretrain.model
    folder = files.found(model.checkpoint, model.revision) if model.checkpoint else None
    if folder is None or not (folder / "tokenizer.json").is_file():
        return None
    tasks = arm.evaluate.chosen.values()
    texts = [text for task in tasks for row in sample_texts(task, SAMPLE) for text in row]
    return fertility(folder, texts)


def fertility(folder: Path, texts: Sequence[str]) -> tuple[float, float] | None:
    """Tokens of the tokenizer in `folder` per word of `texts` (Rust et al. 2021, "How Good is Your
    Tokenizer?", ACL), and the share of unknown tokens; null without words, and where the file alone
    is not enough, as without a token of unknown text. Words and punctuation marks are those of
    BERT's basic tokenizer, to which each Chinese character is a word.

    Raises:
        ValueError: as `json_file.read`.
    """
    from tokenizers import normalizers, pre_tokenizers

    clean = normalizers.BertNormalizer(strip_accents=False, lowercase=False)
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    num_words = sum(len(split(clean.normalize_str(text))) for text in texts)
    tokenizer = json_file.read(folder / "tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    try:
        encoded = tokenizer.encode_batch([*texts], add_special_tokens=False)
    except BaseException as error:
        json_file.reason(error)  # raises what is no error of the tokenizer
        return None
    ids = [token for one in encoded for token in one.ids]
    unknown = _unknown_id(tokenizer)
    return (len(ids) / num_words, ids.count(unknown) / len(ids)) if num_words and ids else None


def _unknown_id(tokenizer: Any) -> int:
    """The id of the unknown token; -1 without one, as in byte-level tokenizers."""
    model = json.loads(tokenizer.to_str())["model"]
    token = tokenizer.token_to_id(model.get("unk_token") or "")
    found = model.get("unk_id") if token is None else token
    return -1 if found is None else int(found)
