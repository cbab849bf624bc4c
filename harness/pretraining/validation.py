"""The held-out metrics of a module."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytorch_lightning as pl
from torch import nn
from torch.utils.data import DataLoader, Dataset

from harness.data.corpora.token_stream import TokenStream
from harness.pretraining.learners.learner import decoder_start
from harness.pretraining.logged_metrics import values
from harness.pretraining.module import PretrainingModule
from harness.pretraining.objectives import held_out
from harness.pretraining.objectives.held_out import has_held_out_loss
from harness.pretraining.objectives.loader import TensorBatch, to_tensors
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain


def validate(
    trainer: pl.Trainer,
    module: PretrainingModule,
    stream: Path,
    vocabulary: Vocabulary,
    with_pairs: bool = True,
) -> None:
    """Computes the held-out metrics of a module on the token stream in `stream`, if it has any."""
    if not has_held_out_loss(module.spec.objectives[-1]):
        return
    start = decoder_start(module.learner.backbone, vocabulary)
    on_gpu = trainer.strategy.root_device.type == "cuda"
    loaders = validation_loaders(module.spec, stream, vocabulary, start, with_pairs, on_gpu)
    trainer.validate(module, loaders, verbose=False)


def losses_by_source(
    trainer: pl.Trainer, module: PretrainingModule, streams: Path, vocabulary: Vocabulary
) -> dict[str, float]:
    """The held-out metrics of each token stream in a folder, `validation_source_<name>_<metric>`;
    those of the module are replaced. Nothing without the folder."""
    found: dict[str, float] = {}
    for stream in sorted(streams.iterdir()) if streams.exists() else []:
        module.held_out = nn.ModuleDict()
        validate(trainer, module, stream, vocabulary, with_pairs=False)
        for name, value in values(module.held_out).items():
            found[f"validation_source_{stream.name}_{name}"] = value
    return found


def validation_loaders(
    spec: Pretrain,
    folder: Path,
    vocabulary: Vocabulary,
    start: int,
    with_pairs: bool = True,
    on_gpu: bool = False,
) -> list[DataLoader[TensorBatch]]:
    """Loaders of the held-out batches of the output and, with a pair loss, of the pairs."""
    stream = TokenStream.open(folder)
    objective = spec.objectives[-1]
    longest = max(phase.sequence_length for phase in spec.phases)
    sets = [held_out.held_out_batches(stream, vocabulary, objective, longest, start)]
    if with_pairs and objective.sentence_pair != "none":
        length = spec.phases[-1].sequence_length
        sets.append(held_out.pair_batches(stream, vocabulary, objective, spec.packing, length))
    collate = cast("Callable[[list[Any]], TensorBatch]", to_tensors)  # of one batch, not a list
    # A list works as a map-style data set, but has another type.
    return [
        DataLoader(
            cast("Dataset[Any]", batches), batch_size=None, collate_fn=collate, pin_memory=on_gpu
        )
        for batches in sets
    ]
