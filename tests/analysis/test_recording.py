"""What a run records of its experiment for boards, and when."""

from pathlib import Path
from typing import Any

import pytest

import harness
from harness.store.entries import NAME
from harness.store.recorded import recorded_experiments
from harness.study import Study

EXPERIMENT: dict[str, Any] = {
    "name": "kept",
    "question": "What is recorded?",
    "pretrain": {"size": "nano", "budget": {"steps": 3}},
    "grid": {"pretrain.objective.sentence_pair": ["nsp", "none"]},
    "evaluate": {"tasks": ["micro-sst2"]},
}
ONE_ARM = {"grid": {"pretrain.objective.sentence_pair": ["nsp"]}}


def computed(folder: Path, **changes: Any) -> Study:
    """A study whose stages are finished, as after `harness work`, which records no experiment."""
    study = harness.declare({**EXPERIMENT, **changes}, store=folder / "runs")
    (folder / "out").mkdir(exist_ok=True)
    for key in study.plan.stages.keys() - study.store.finished().keys():
        kind, metrics = study.plan.stages[key].kind, {"validation/accuracy": 0.5}
        study.store.record(key, kind, "made up", {}, metrics, folder / "out")
    return study


@pytest.mark.parametrize(
    "changes", [{}, {"tags": ["mine"]}, {"question": "Which one?"}, {"expect": "none > nsp"}]
)
def test_a_run_without_stages_records_what_has_changed(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    before, study = computed(tmp_path, **ONE_ARM).run(), computed(tmp_path, **changes)
    for arms in (study, before):  # one more, one less
        assert not arms.run().last_run.computed
        (one,) = recorded_experiments(study.store)
        assert set(one.scores["arm"]) == {arm.name for arm in arms.plan.arms}
        assert one.stages == set(arms.plan.stages)
        assert one.spec["experiment"]["question"] == arms.experiment.question
        assert one.spec["experiment"]["tags"] == list(arms.experiment.tags)


def test_an_equal_record_is_not_made_again(tmp_path: Path) -> None:
    study = computed(tmp_path).run().run()
    assert len(study.store.runs.tagged(NAME)) == 1
