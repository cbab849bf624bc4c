"""A new transform and a new objective take exactly the additions that CONTRIBUTING.md lists."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from harness.experiment import declaration
from harness.experiment.experiment import Experiment
from harness.models.flops import Lengths
from harness.plan.factory import make_plan
from harness.pretraining.objectives import OBJECTIVES, objective
from harness.pretraining.objectives.expected_lengths import expected_lengths
from harness.pretraining.objectives.layout import Rows
from harness.pretraining.objectives.objective import Component, Mixture, Objective
from harness.pretraining.objectives.outputs import DroppedSpans
from harness.pretraining.objectives.targets import assemble
from harness.pretraining.objectives.transforms import TRANSFORMS, apply_transform
from harness.pretraining.objectives.transforms.array_ops import packed
from harness.pretraining.objectives.transforms.order import Prefix
from harness.pretraining.objectives.transforms.transform import Transform, TransformResult
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.scoring.requests import unsupported_request
from harness.pretraining.settings import PretrainSettings
from harness.pretraining.steps import training_flops_per_step
from tests.pretraining.objectives.transforms.texts import CLS, MASK, SEP, VOCABULARY, equal_rows


class GapSentences(Transform):
    """Moves the last quarter of the text to the target, and inserts one mask in its place."""

    kind: Literal["gap_sentences"] = "gap_sentences"


def gap_sentences(
    settings: GapSentences, rows: Rows, rng: np.random.Generator, vocabulary: Vocabulary
) -> TransformResult:
    place = rows.maskable.cumsum(1)
    chosen = rows.maskable & (place > 0.75 * rows.maskable.sum(1)[:, None])
    first = chosen & (np.cumsum(chosen, axis=1) == 1)
    tokens = np.where(first, vocabulary.mask, rows.tokens)
    real = np.arange(tokens.shape[1]) < rows.lengths[:, None]
    source, lengths = packed(tokens, real & (~chosen | first), vocabulary.pad)
    dropped = packed(rows.tokens, chosen, vocabulary.pad)
    return TransformResult(source, lengths, chosen, aligned=False, dropped=dropped)


COMPILED = (Objective, Component, Mixture, PretrainSettings, Pretrain, Experiment)
"""Models whose validators pydantic has built already, innermost first."""
EXPERIMENT = """
name: gap-sentences
question: Does it work?
pretrain:
  recipe: t5
  corpus: microworld
  size: nano
  phases: [{{fraction: 1, sequence_length: 512}}]
  objective: {objective}
  budget: {{flops: 1e12}}
evaluate:
  tasks: [micro-sst2]
"""


@pytest.fixture(autouse=True)
def _added() -> Iterator[None]:
    """The transform in TRANSFORMS and COMBINATIONS, the objective in OBJECTIVES."""
    with pytest.MonkeyPatch.context() as patch:
        transforms: dict[Any, Any] = TRANSFORMS
        patch.setitem(transforms, GapSentences, gap_sentences)
        row = ("dropped_spans", ("encoder_decoder",), ("gap_sentences",))
        patch.setattr(objective, "COMBINATIONS", (*objective.COMBINATIONS, row))
        _rebuild()
        patch.setitem(OBJECTIVES, "toy", _toy())
        yield
    _rebuild()


def _rebuild() -> None:
    for model in COMPILED:
        model.model_rebuild(force=True)


def _toy() -> Objective:
    return Objective(
        transform=GapSentences(), representation="encoder_decoder", output=DroppedSpans()
    )


@pytest.mark.parametrize(
    "declared",
    ["toy", "{transform: gap_sentences, representation: encoder_decoder, output: dropped_spans}"],
)
def test_an_experiment_can_declare_and_plan_it(declared: str) -> None:
    text = EXPERIMENT.format(objective=declared)
    read = declaration.read(text, Path("toy.yaml"))
    assert read.arms[0].pretrain.objective == _toy()
    plan = make_plan(read)
    (stage,) = [stage for stage in plan.stages.values() if stage.kind == "pretrain"]
    assert Pretrain.model_validate(stage.spec["pretrain"]).objective == _toy()
    like = Prefix(min_target_fraction=0.25, max_target_fraction=0.25)
    similar = read.arms[0].pretrain.model_copy(
        update={"objective": _toy().model_copy(update={"transform": like})}
    )
    cost, expected = map(training_flops_per_step, (read.arms[0].pretrain, similar))
    assert cost == pytest.approx(expected, rel=0.02), "one mask more, and as many targets"


@pytest.mark.parametrize("mode_token", [False, True])
def test_its_cost_is_measured(mode_token: bool) -> None:
    """PEGASUS-like (Zhang et al. 2020): of 100 tokens 75 and a mask are left, 25 are the target."""
    found = expected_lengths(_toy(), 102, mode_token=mode_token)
    assert found == Lengths(75 + 1 + 2 + mode_token, 26, 26)


def test_it_makes_batches() -> None:
    rows = equal_rows(3, 8)
    result = apply_transform(GapSentences(), rows, np.random.default_rng(0), VOCABULARY)
    batch = assemble(rows, result, _toy(), None, VOCABULARY, decoder_start=0)
    text = rows.tokens[:, 1:9]
    kept = np.c_[np.full(3, CLS), text[:, :6], np.full(3, MASK), np.full(3, SEP)]
    assert batch["input_ids"].tolist() == kept.tolist()
    assert batch["targets"].reshape(3, 3).tolist() == np.c_[text[:, 6:], [SEP] * 3].tolist()


def test_it_cannot_be_scored_without_a_gap_filler() -> None:
    assert "gap_sentences" in unsupported_request(_toy())
