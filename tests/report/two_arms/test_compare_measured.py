"""Arms by their results alone: recorded in the store, or imported."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.exchange.results.export_results import export_results, runs_of_recorded
from harness.exchange.results.import_results import import_results
from harness.exchange.results.schema import EXAMPLES, examples_path
from harness.report.two_arms.arm_comparison import ArmComparison
from harness.report.two_arms.compare import compare_arms
from harness.report.two_arms.compare_measured import compare_measured
from harness.report.two_arms.measured import MeasuredArm, measured_arm
from harness.store.recorded import recorded_experiments
from harness.store.store import Store
from tests.exchange.results.test_results import rewritten
from tests.filled_store import fill
from tests.made_up_results import MadeUpResults

Fabricate = Callable[..., MadeUpResults]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return fill(tmp_path_factory.mktemp("measured"))


@pytest.fixture(scope="module")
def exported(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both experiments as files."""
    path = tmp_path_factory.mktemp("exported") / "theirs.parquet"
    runs = [runs_of_recorded(one, store) for one in recorded_experiments(store)]
    export_results(runs, path, source="lab x")
    return path


def imported(exported: Path, folder: Path, with_examples: bool = True) -> Store:
    """Another store with the exported results."""
    store, file = Store(folder / "store"), folder / exported.name
    shutil.copy(exported, file)
    if with_examples:
        shutil.copy(examples_path(exported), examples_path(file))
    import_results(file, store)
    return store


def compared(store: Store, *names: str) -> ArmComparison:
    one, other = (measured_arm(store, name) for name in names)
    return compare_measured(one, other)


def of_made_up(results: MadeUpResults, arm: str, **changes: Any) -> MeasuredArm:
    scores = results.scores[results.scores["arm"] == arm]
    made = MeasuredArm(
        *("made-up", arm, scores, "{}"),
        examples=lambda key: (results.predictions(key), results.counts(key)),
        suite=results.suite,
    )
    return replace(made, **changes)


def test_measured_arms_compare_as_those_of_an_experiment(fabricate: Fabricate) -> None:
    data = fabricate({"good": 0.9, "poor": 0.6})
    expected = compare_arms((data, "good"), (data, "poor"))
    found = compare_measured(of_made_up(data, "good"), of_made_up(data, "poor"))
    for name, one in expected.differences.items():
        assert one
        assert found.differences[name] == one
    assert found.flips == expected.flips and found.holm == expected.holm
    assert found.fields is None and "Differing fields" not in str(found)


def test_imported_arms_compare_as_those_that_were_exported(
    store: Store, exported: Path, tmp_path: Path
) -> None:
    here = compared(store, "one:good", "two")
    there = compared(imported(exported, tmp_path), "one:good", "two:alike")
    assert here.differences["swag"] and here.flips["swag", "validation"].examples > 40
    assert there.differences == here.differences and there.flips == here.flips
    assert here.names == ("good", "alike") and not here.notes
    assert here.tables()[0].title == "one: good − two: alike"


def test_without_examples_intervals_are_over_seeds(
    store: Store, exported: Path, tmp_path: Path
) -> None:
    here = compared(store, "one:good", "two")
    there = compared(imported(exported, tmp_path, with_examples=False), "one:good", "two")
    with_examples, alone = here.differences["swag"], there.differences["swag"]
    assert with_examples and alone
    assert alone.estimate == pytest.approx(with_examples.estimate) and alone.low < alone.high
    assert not there.flips
    assert "swag: the examples of a run are unknown, so the interval is over seeds" in str(there)


def test_one_seed_without_examples_has_no_difference(fabricate: Fabricate) -> None:
    data = fabricate({"good": 0.9, "poor": 0.6}, tasks=["sst2"], seeds=(1, 2))
    good, poor = (of_made_up(data, arm, examples=lambda key: None) for arm in ("good", "poor"))
    found = compare_measured(good, poor)
    assert not any(found.differences.values())
    assert all(found.means(0)) and "sst2: no difference, as the examples" in str(found)


def test_a_run_without_a_score_has_no_difference_without_examples_either(
    fabricate: Fabricate,
) -> None:
    """The table has no score for the arm, as the mean of its other runs would favour it."""
    data = fabricate({"good": 0.9, "poor": 0.6}, tasks=["stsb", "sst2"])
    first = (data.scores["pretrain_seed"] == 0) & (data.scores["task"] == "stsb")
    data = data.but(scores=data.scores.assign(value=data.scores["value"].mask(first)))
    good, poor = (of_made_up(data, arm, examples=lambda key: None) for arm in ("good", "poor"))
    found = compare_measured(good, poor)
    assert found.differences["stsb"] is None and found.differences["sst2"]
    assert "stsb: no difference, as the examples" in str(found)


def test_what_does_not_agree_is_one_line(fabricate: Fabricate) -> None:
    data = fabricate({"good": 0.9, "poor": 0.6})
    good = of_made_up(data, "good", protocol='{"finetune": {"epochs": 3}}')
    part = data.scores[(data.scores["arm"] == "poor") & (data.scores["task"] != "stsb")]

    def shuffled(key: str) -> Any:
        frame, counts = data.predictions(key), data.counts(key)
        return frame.assign(label=frame["label"].to_numpy()[::-1]), counts

    wrong = [
        (
            {"protocol": '{"finetune": {"epochs": 5}}'},
            "comparable: evaluate.finetune.epochs is 3 and 5",
        ),
        ({"protocol": "{}"}, "comparable: evaluate.finetune.epochs is 3 and not set"),
        (
            {"protocol": '{"finetune": {"epochs": 3}, "sweep": {"trials": 2, "sampler": "tpe"}}'},
            "good and made-up: poor are not comparable: sweep.trials is not set and 2$",
        ),
        (
            {"protocol": good.protocol, "scores": part},
            "tasks with scores are mrpc, sst2, stsb and mrpc, sst2",
        ),
        (
            {"protocol": good.protocol, "scores": part.assign(suite="glue-v2")},
            "comparable: suite is glue-v1 and glue-v2",
        ),
        (
            {"protocol": good.protocol, "examples": shuffled},
            "good and poor: the examples of mrpc validation differ",
        ),
    ]
    for changes, message in wrong:
        with pytest.raises(ValueError, match=message) as error:
            compare_measured(good, of_made_up(data, "poor", **changes))
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="must be given, not made-up: good twice"):
        compare_measured(good, good)


def test_a_name_must_be_that_of_one_arm(store: Store, exported: Path, tmp_path: Path) -> None:
    assert measured_arm(store, "two").label == "two: alike"
    with pytest.raises(ValueError, match="'thee' is not known; known: one, two"):
        measured_arm(store, "thee")
    with pytest.raises(ValueError, match="'one:god' is not known; did you mean 'one:good'"):
        measured_arm(store, "one:god")
    with pytest.raises(ValueError, match="one must name one arm, as one:ARM, but has good, <scr"):
        measured_arm(store, "one")
    theirs = imported(exported, tmp_path)
    file = rewritten(tmp_path / exported.name, source="lab y")
    rewritten(examples_path(file), EXAMPLES, source="lab y")
    import_results(file, theirs)
    with pytest.raises(ValueError, match="is of lab x on swag-v1, lab y on swag-v1"):
        measured_arm(theirs, "two")


def test_the_command_names_what_has_no_file(store: Store) -> None:
    def call(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["compare", *arguments, "--store", str(store.root)])

    found = call("one:good", "two", "--format", "csv")
    assert found.exit_code == 0
    assert found.output.startswith("column,good,alike,difference")
    found = call("one:good", "three:alike")
    assert found.exit_code == 2 and found.output.count("\n") == 1
    assert "'three:alike' is not known; known: one, two" in found.output
    found = call("one:good", "quickstrt:bert")
    assert "the experiment 'quickstrt' is not known; did you mean 'quickstart'?" in found.output
