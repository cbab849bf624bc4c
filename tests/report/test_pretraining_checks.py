"""Pretraining that learned hardly anything, against losses by hand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from harness.analysis.frames.runs import pretrain_runs_frame
from harness.analysis.results import Results
from harness.data.corpora.sources import MicroworldCorpus, MixedCorpus
from harness.data.corpora.token_stream import TokenStream
from harness.execution.job import Workspace
from harness.plan.factory import load_plan
from harness.pretraining.budget import Budget
from harness.pretraining.recipes import RECIPES
from harness.report.pretraining_checks import (
    failed_seeds,
    frequency_loss,
    losses_beside_frequencies,
    unlearned,
    unmet_weights,
)
from harness.store.store import Store
from tests.paths import ROOT

TRAIN, HELD_OUT = [0, 0, 0, 1, 1, 2], [0, 1, 3]


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    for name, ids in (("train", TRAIN), ("validation", HELD_OUT)):
        (tmp_path / name).mkdir()
        for array in ("tokens", "sentences", "documents", "bytes"):
            np.save(tmp_path / name / f"{array}.npy", np.array(ids, dtype=np.uint16))
    assert TokenStream.open(tmp_path / "train").num_tokens == len(TRAIN)
    return tmp_path


def results_of(tokens: Path, losses: dict[str, float]) -> Results:
    """Arms with these held-out losses on one text; `scratch` is not trained."""
    budgets = {arm: Budget(tokens=0 if arm == "scratch" else 100) for arm in losses}
    arms = [
        SimpleNamespace(
            name=arm, pretrain=RECIPES["bert"].model_copy(update={"budget": budgets[arm]})
        )
        for arm in losses
    ]
    stages: dict[str, Any] = {arm: SimpleNamespace(parents={"tokens": "text"}) for arm in losses}
    stages["alone"] = SimpleNamespace(parents={})
    keys = {(arm, seed): arm for arm in losses for seed in (0, 1)} | {("imported", 0): "alone"}
    plan: Any = SimpleNamespace(arms=arms, stages=stages, pretrain_keys=keys)
    results = Results(plan, store=cast(Any, None))
    found = {arm: {"validation_loss": loss, "seconds": 1.0} for arm, loss in losses.items()}
    results.__dict__["finished"] = {
        key: SimpleNamespace(metrics=found.get(key, {})) for key in ("text", *losses)
    }
    results.files = lambda key: {"text": tokens}[key]  # type: ignore[method-assign]
    return results


def test_the_loss_of_frequencies_with_one_added_to_each(tokens: Path) -> None:
    results = results_of(tokens, {"bert": 1.0})
    shares = np.array([4, 3, 2, 1]) / 10
    assert frequency_loss(results, "bert") == pytest.approx(-np.log(shares[HELD_OUT]).mean())
    assert frequency_loss(results, "imported") is None


def test_losses_hardly_below_that_of_frequencies_are_named(tokens: Path) -> None:
    by_frequency = -np.log(np.array([0.4, 0.3, 0.1])).mean()
    losses = {"idle": 0.96 * by_frequency, "good": 0.9 * by_frequency, "scratch": 9.0}
    results = results_of(tokens, losses)
    assert len(results.get(pretrain_runs_frame)) == 6
    (sentence,) = unlearned(losses_beside_frequencies(results))
    assert sentence.endswith(f": idle {losses['idle']:.2f} against {by_frequency:.2f}.")
    learned = losses_beside_frequencies(results_of(tokens, {"good": 0.5}))
    assert learned.keys() == {"good"} and [*unlearned(learned)] == []


def test_seeds_that_failed_are_named_by_reason(tmp_path: Path) -> None:
    plan = load_plan(ROOT / "experiments" / "smoke.yaml")
    results, workspace = Results(plan, Store(tmp_path)), Workspace(tmp_path)
    assert [*failed_seeds(results)] == []
    first, second, *_ = (one for one in plan.stages.values() if one.kind == "pretrain")
    for stage in (first, second):
        workspace.keep_error(stage.key, "FloatingPointError: not finite")
    (sentence,) = failed_seeds(results)
    named = f"{first.label}; {second.label} (FloatingPointError: not finite)"
    assert sentence.startswith(f"Pretraining failed for {named}. Scores")


@pytest.mark.parametrize(("books", "named"), [(960, True), (700, False)])
def test_shares_of_a_text_that_its_weights_do_not_declare(
    tokens: Path, books: int, named: bool
) -> None:
    """A document of 960 bytes in a text of 300."""
    results = results_of(tokens, {"one": 1.0, "other": 1.0})
    corpus = MixedCorpus(
        sources={"books": MicroworldCorpus(), "speech": MicroworldCorpus(seed=1)},
        weights={"books": 2, "speech": 1},
    )
    for arm in results.plan.arms:
        arm.pretrain = arm.pretrain.model_copy(update={"corpus": corpus})  # type: ignore[misc]
    found = {"source_books_bytes": books, "source_speech_bytes": 1000 - books}
    results.finished["text"].metrics.update(found)  # type: ignore[attr-defined]
    sentences = [*unmet_weights(results)]
    assert len(sentences) == named
    if named:
        (sentence,) = sentences
        assert sentence.startswith(
            "one, other: the training text has other shares than the weights"
        )
        assert "books 96.0 % instead of 66.7 %, speech 4.0 % instead of 33.3 %" in sentence
