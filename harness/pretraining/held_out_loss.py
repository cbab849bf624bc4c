"""The held-out loss of a model without further training."""

from collections.abc import Mapping
from pathlib import Path

import pytorch_lightning as pl

from harness.core.compute import DEFAULT_COMPUTE, Compute
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.run import make_module
from harness.pretraining.trainer import make_trainer
from harness.pretraining.validation import validate


def held_out(
    spec: Pretrain,
    tokens: Path,
    tokenizer: Path,
    seed: int,
    folders: Mapping[str, Path],
    compute: Compute = DEFAULT_COMPUTE,
) -> dict[str, float]:
    """The held-out figures of the model in `folders["init_from"]` under the objective of `spec`.

    Returns:
        validation_loss, validation_accuracy and, for left-to-right models,
        validation_bits_per_byte, as `pretrain` returns them.
    """
    vocabulary = Vocabulary.load(tokenizer)
    module = make_module(spec, vocabulary, seed, folders, num_steps=0)
    trainer = make_trainer(pl.Callback(), compute=compute)
    validate(trainer, module, tokens / "validation", vocabulary)
    figures = module.figures()
    return {name: value for name, value in figures.items() if name.startswith("validation_")}
