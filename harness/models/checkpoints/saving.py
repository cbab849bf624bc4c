"""A model in memory as a checkpoint folder."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerFast

from harness.models.checkpoints import files


def as_checkpoint(model: Any, tokenizer: Any, root: Path) -> str:
    """The folder of a model in memory, written by `save_checkpoint`; a folder or an id on the Hub
    is returned as it is.

    Raises:
        ValueError: as `save_checkpoint`, or there is a tokenizer next to a folder or an id.
    """
    if not isinstance(model, str | Path):
        return str(save_checkpoint(model, tokenizer, root))
    if tokenizer is not None:
        raise ValueError(
            f"a tokenizer goes with a model in memory, but the model is {model}, which has its "
            "own: leave it out, and name the suite as suite=..."
        )
    return str(model)


def save_checkpoint(model: Any, tokenizer: Any, root: Path) -> Path:
    """Writes a model of transformers and its tokenizer to a folder below `root` that is named by
    its content, so that equal models have one folder.

    Raises:
        ValueError: the model is none of transformers, or its tokenizer is not fast or has more
            tokens than the model embeds.
    """
    if not isinstance(model, PreTrainedModel):
        kind = type(model).__name__
        merge = "; merge its adapters first: model.merge_and_unload()" if "Peft" in kind else ""
        raise ValueError(f"the model must be one of transformers, but is a {kind}{merge}")
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise ValueError(
            "the tokenizer must be a fast tokenizer of transformers, but is a "
            f"{type(tokenizer).__name__}"
        )
    embeddings: Any = model.get_input_embeddings()
    embedded = int(embeddings.num_embeddings)
    if len(tokenizer) > embedded:
        raise ValueError(
            f"the tokenizer has {len(tokenizer)} tokens, but the model embeds {embedded}: they do "
            "not belong together"
        )
    root.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=root) as name:
        draft = Path(name) / "model"
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        folder = root / files.fingerprint(str(draft), None).rpartition(":")[2][:16]
        try:
            draft.rename(folder)
        except OSError:  # another process has saved an equal model
            if not folder.exists():
                raise
    return folder
