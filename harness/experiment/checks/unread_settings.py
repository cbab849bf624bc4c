"""Settings of pretraining that the run of an arm does not read."""

from collections.abc import Iterator, Mapping, Sequence

from harness.data.corpora.packing import PAIR_FORMATS
from harness.experiment.arms import Arm
from harness.experiment.checks.axis_fields import fields_within
from harness.experiment.checks.grid import Problems
from harness.experiment.experiment import Experiment
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.transforms.denoising import Denoising
from harness.pretraining.objectives.transforms.spans import SpanCorruption
from harness.pretraining.objectives.transforms.transform import Transform
from harness.pretraining.optimizer import Optimizer
from harness.pretraining.recipes.pretrain import Pretrain

OPTIMIZER = "pretrain.optimizer."
TRANSFORM = "pretrain.objective.transform."
FRACTION = ".validation_fraction"
_OF_ADAM = ("adamw", "stable_adamw", "lamb", "muon")
KINDS: Mapping[str, Sequence[str]] = {
    "beta1": _OF_ADAM,
    "beta2": _OF_ADAM,
    "eps": (*_OF_ADAM, "adagrad"),
    "momentum": ("sgd", "muon"),
    "initial_accumulator": ("adagrad",),
    "bias_correction": ("adamw",),
}
"""Field of the optimizer to the kinds that read it, of those that not all do."""


def problems(arm: Arm) -> Problems:
    """Fields that an axis or `arms` sets without effect: the arm would equal others but in name."""
    for path, value in arm.changes.items():
        for field in fields_within(path, value):
            if why := unread(arm.pretrain, field):
                yield tuple(field.split(".")), f"{field} has no effect: {why}; leave it out"


def base_problems(experiment: Experiment, arms: Sequence[Arm]) -> Problems:
    """Fields of the optimizer that are set for all arms, but that none of them reads; those which
    every kind has a value of may be of a file that is extended."""
    given = experiment.pretrain.get("optimizer")
    for name, value in given.items() if isinstance(given, Mapping) else ():
        reasons = [unread(arm.pretrain, f"{OPTIMIZER}{name}") for arm in arms]
        is_own = name in KINDS and Optimizer.model_fields[name].default is None
        if is_own and value is not None and reasons and all(reasons):
            keys = ("pretrain", "optimizer", name)
            yield keys, f"{OPTIMIZER}{name} has no effect: {reasons[0]}; leave it out"


def unread(run: Pretrain, field: str) -> str:
    """Why a run does not read the field at a dotted path; empty if it does."""
    return next(_reasons(run, field), "")


def _reasons(run: Pretrain, field: str) -> Iterator[str]:
    own, kind = KINDS.get(field.removeprefix(OPTIMIZER), ()), run.optimizer.kind
    if field.startswith(OPTIMIZER) and own and kind not in own:
        yield f"it is of {', '.join(own)}, but the optimizer is {kind}"
    packing = run.packing.format
    if field == "pretrain.packing.short_seq_prob" and packing != "segment_pair":
        yield f"it is of the format segment_pair, but packing.format is {packing}"
    is_fixed = run.objective.masking == "static" or packing in PAIR_FORMATS
    if field == "pretrain.objective.dupe_factor" and not is_fixed:
        yield f"masking is dynamic, and packing.format {packing} has no pairs"
    if isinstance(run.objective, Objective) and field.startswith(TRANSFORM):
        yield from _of_transform(run.objective.transform, field.removeprefix(TRANSFORM))
    yield from _of_held_out(run, field)


def _of_transform(transform: Transform, field: str) -> Iterator[str]:
    """Why a transform does not read a field of its own."""
    if isinstance(transform, SpanCorruption):
        if field == "mean_span_length" and transform.noise != "random_spans":
            yield f"it is of the noise random_spans, but the noise is {transform.noise}"
        if field == "random_token_rate" and transform.replacement != "mask_token":
            yield f"it is of the replacement mask_token, but that is {transform.replacement}"
    if isinstance(transform, Denoising) and field == "poisson_lambda" and not transform.infill_rate:
        yield "it is of infilled spans, but infill_rate is 0"


def _of_held_out(run: Pretrain, field: str) -> Iterator[str]:
    """Why no text is held out by a `validation_fraction`. Sources of mixtures that are a held-out
    text or that of a tokenizer read it: what is held out does not count for their shares."""
    if field.startswith("pretrain.corpus.") and field.endswith(FRACTION) and run.held_out:
        yield "all of the corpus is for training, as pretrain.held_out gives the held-out text"
    if field == f"pretrain.held_out{FRACTION}":
        yield "all of the text in pretrain.held_out is held out"
    if field == f"pretrain.tokenizer.corpus{FRACTION}":
        yield "a tokenizer learns from all of its corpus"
