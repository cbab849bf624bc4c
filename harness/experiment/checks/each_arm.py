"""The checks of each arm alone, and of the arm that it learns from."""

from collections.abc import Sequence

from harness.experiment.arms import Arm
from harness.experiment.checks import (
    auxiliary,
    continued_pretraining,
    diagnostics,
    distillation,
    ensembles,
    finetuning,
    marked_words,
    model,
    prompt_training,
    retrieval,
    unread_settings,
    unused_fields,
    warmup,
    worlds,
)
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Seeds


def problems(arm: Arm, arms: Sequence[Arm], seeds: Seeds) -> Problems:
    """The problems of an arm among `arms`."""
    yield from model.problems(arm)
    yield from continued_pretraining.problems(arm)
    yield from diagnostics.problems(arm)
    yield from distillation.problems(arm, arms)
    yield from auxiliary.problems(arm, arms)
    yield from prompt_training.problems(arm)
    yield from warmup.problems(arm)
    yield from unread_settings.problems(arm)
    yield from marked_words.problems(arm)
    yield from worlds.problems(arm)
    yield from finetuning.problems(arm, arms)
    yield from ensembles.problems(arm, seeds)
    yield from retrieval.problems(arm)
    yield from unused_fields.problems(arm, arms)
