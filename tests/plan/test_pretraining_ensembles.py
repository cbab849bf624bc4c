"""Ensembles over pretraining seeds: members, keys, scores against averages by hand, differences,
costs, and what is refused."""

import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from harness.analysis.comparison.seed_scores import paired_spread, seed_scores, spread
from harness.analysis.frames.costs import pretraining_flops, scored_parameters
from harness.analysis.frames.quantities import quantity_values
from harness.analysis.power import power_line
from harness.analysis.statistics.welch import welch
from harness.execution.stages.task_runner import SETTINGS
from harness.experiment.declaration import from_data
from harness.experiment.evaluation import Evaluate
from harness.experiment.source import DeclarationError
from harness.finetuning.ensemble import Ensemble, recorded_networks
from harness.leaderboard.build import experiment_comparer, experiment_runs, experiment_table
from harness.plan.checks import CHECKS
from harness.plan.ensemble_stages import members_of
from harness.plan.factory import make_plan
from harness.plan.plan import Plan, Stage
from harness.plan.protocol import protocol_of
from harness.report.run_checks import excluded_seeds
from harness.report.sections.transfer import transfer_points
from tests.plan.test_ensembles import outputs_of, predictions
from tests.plan.test_task_chain_stages import BASE, FAST
from tests.stage_runner import StageRunner

OVER = {"members": 2, "over": "pretraining"}
TASKS = ["micro-rte", "micro-stsb"]
"""Of classes and of values."""
ARMS: dict[str, dict[str, Any]] = {
    "single": {},
    "networks": {"evaluate.ensemble": OVER},
    "longer": {"evaluate.ensemble": OVER, "evaluate.finetune.epochs": 2},
}


def declared(seeds: Any, **fields: Any) -> dict[str, Any]:
    evaluate = {**FAST, "tasks": TASKS, "adaptation": "lora", "save_weights": True}
    pretrain = {**BASE["pretrain"], "budget": {"tokens": 2_000}}
    data = {**BASE, "pretrain": pretrain, "evaluate": evaluate, "seeds": seeds}
    return {**data, "grid": {"model": ARMS}, **fields}


@cache
def plan(seeds: int = 4) -> Plan:
    return make_plan(from_data(declared({"pretrain": seeds})))


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> StageRunner:
    made = StageRunner(tmp_path_factory.mktemp("stages"))
    made.run(plan())
    return made


def stages(made: Plan, arm: str, task: str) -> dict[int, Stage]:
    """Pretraining seed to the stage that is scored."""
    runs = [run for run in made.finetune_runs if (run.arm, run.task) == (arm, task)]
    return {run.pretrain_seed: made.stages[run.key] for run in runs}


def test_no_two_ensembles_share_a_seed_and_those_left_over_are_in_none() -> None:
    ensemble = Ensemble(members=3, over="pretraining")
    assert ensemble.groups([5, 7, 1, 2, 9, 4, 0, 3]) == [(5, 7, 1), (2, 9, 4)]
    assert ensemble.groups([5, 7]) == []


def test_members_are_the_runs_of_single_networks() -> None:
    single = {seed: one.key for seed, one in stages(plan(5), "single", "micro-rte").items()}
    found = stages(plan(5), "networks", "micro-rte")
    assert {seed: members_of(one.parents) for seed, one in found.items()} == {
        0: [single[0], single[1]],
        2: [single[2], single[3]],
    }
    assert sorted(single) == [0, 1, 2, 3, 4]


def test_the_members_of_an_ensemble_have_its_fine_tuning_seed() -> None:
    made = make_plan(from_data(declared({"pretrain": 2, "finetune": 3})))
    runs = [run for run in made.finetune_runs if (run.arm, run.task) == ("networks", "micro-rte")]
    assert [(run.pretrain_seed, run.finetune_seed) for run in runs] == [(0, 0), (0, 1), (0, 2)]
    for run in runs:
        own = [made.stages[key].spec["seed"] for key in members_of(made.stages[run.key].parents)]
        assert own == [run.finetune_seed] * 2


def test_probabilities_are_averaged_geometrically(runner: StageRunner) -> None:
    """The mean of outputs before the softmax: the normalised geometric mean of probabilities."""
    for one in stages(plan(), "networks", "micro-rte").values():
        members = [plan().stages[key] for key in members_of(one.parents)]
        first, second = (softmax(outputs_of(runner, member), axis=1) for member in members)
        assert not np.allclose(first, second)
        mean = np.sqrt(first * second)
        found = predictions(runner, one)
        np.testing.assert_array_equal(found, mean.argmax(axis=1))


def test_values_are_averaged(runner: StageRunner) -> None:
    """With `lora`, members save their updates alone: each is read into its own network."""
    for one in stages(plan(), "networks", "micro-stsb").values():
        members = [plan().stages[key] for key in members_of(one.parents)]
        each = [outputs_of(runner, member)[:, 0] for member in members]
        np.testing.assert_allclose(predictions(runner, one), np.mean(each, axis=0), rtol=1e-5)
        assert not np.allclose(each[0], each[1])


def test_members_have_the_settings_that_were_chosen_for_them(tmp_path: Path) -> None:
    """One random trial for each pretraining seed, whose ranks differ."""
    ranks = {"adaptation.rank": list(range(1, 9))}
    sweep = {"trials": 1, "sampler": "random", "seeds": "each", "space": ranks}
    grid = {"model": {"networks": ARMS["networks"]}}
    made = make_plan(from_data(declared({"pretrain": 2}, grid=grid, sweep=sweep)))
    runner = StageRunner(tmp_path)
    runner.run(made)
    (one,) = stages(made, "networks", "micro-stsb").values()
    members = [made.stages[key] for key in members_of(one.parents)]
    files = [runner.out(member.key) / SETTINGS for member in members]
    chosen = [json.loads(file.read_text())["adaptation"]["rank"] for file in files]
    assert chosen[0] != chosen[1]
    each = [outputs_of(runner, member)[:, 0] for member in members]
    np.testing.assert_allclose(predictions(runner, one), np.mean(each, axis=0), rtol=1e-5)


def test_an_ensemble_is_one_seed_of_differences(runner: StageRunner) -> None:
    """Ensembles and single networks are compared as independent, which their shared networks make
    too wide; ensembles of the same networks one by one."""
    results = runner.results(plan())
    results.store = SimpleNamespace(files=lambda record: runner.out(record.key))  # type: ignore[assignment]
    table = results.get(experiment_table)
    compare = experiment_comparer(results, table)
    runs = results.get(experiment_runs)
    known: Any = {arm: seed_scores(runs[arm], table.layout.terms) for arm in ARMS}
    assert [list(known[arm].seeds) for arm in ARMS] == [[0, 1, 2, 3], [0, 2], [0, 2]]
    scores = {arm: known[arm].scores for arm in ARMS}
    for other, paired in (("single", False), ("longer", True)):
        found: Any = compare("networks", other)["average"]
        sides = {arm: scores[arm][0] for arm in (("networks", other) if paired else ARMS)}
        least = (paired_spread if paired else spread)(sides).least(sides["networks"], sides[other])
        expected = welch(scores["networks"], scores[other], paired=paired, least=least)
        assert found.num_seeds == 2
        for name in ("estimate", "low", "high", "p_value"):
            wanted = np.clip(getattr(expected, name), -150, 150)
            assert getattr(found, name) == pytest.approx(wanted), (other, name)


def test_a_row_counts_ensembles(runner: StageRunner) -> None:
    table = runner.results(plan()).get(experiment_table)
    counts = {row.name: row.seed_counts for row in table.rows}
    assert counts == {"single": (4, 1), "networks": (2, 1), "longer": (2, 1)}
    assert "single" not in table.row_notes
    (note,) = table.row_notes["networks"]
    assert note.startswith("Each of its seeds is an ensemble of 2 pretrained networks")


def test_a_report_says_which_arms_have_fewer_seeds(runner: StageRunner) -> None:
    (line,) = excluded_seeds(runner.results(plan()))
    assert line == "Arms with fewer pretraining seeds than the 4 of others: networks 2, longer 2."


def test_costs_are_those_of_all_networks(runner: StageRunner) -> None:
    results = runner.results(plan())
    for costs in (pretraining_flops(results), scored_parameters(results)):
        assert costs["networks"] == 2 * costs["single"] > 0
    seconds = {
        arm: quantity_values(results, "pretraining_seconds")[arm] for arm in ("single", "networks")
    }
    each = seconds["single"]
    np.testing.assert_allclose(seconds["networks"], [each[0] + each[1], each[2] + each[3]])
    trained = quantity_values(results, "trained_parameters")
    assert trained["networks"] == 2 * trained["single"]


def test_a_loss_stands_beside_the_score_of_its_own_network(runner: StageRunner) -> None:
    assert set(transfer_points(runner.results(plan()))["arm"]) <= {"single"}


def test_other_ensembles_keep_their_keys() -> None:
    fields = {"evaluate.ensemble": {"members": 2}}
    given = declared({"pretrain": 1}, grid={"model": {"runs": fields}})
    for one in make_plan(from_data(given)).stages.values():
        assert "over" not in str(one.spec) and not any("network" in role for role in one.parents)


def test_the_protocol_and_records_name_the_networks() -> None:
    lines = protocol_of(plan())
    assert lines["except networks"] == (
        "ensemble.members 2, ensemble.average outputs, ensemble.over pretraining"
    )
    assert Ensemble(members=2, over="pretraining").label == "outputs of 2 pretraining runs"
    arms = plan().declaration.resolved()["arms"]
    assert {name: recorded_networks(arm) for name, arm in arms.items()} == {
        "single": 1,
        "networks": 2,
        "longer": 2,
    }
    assert recorded_networks({"evaluate": {"ensemble": {"members": 3}}}) == 1


def test_seeds_that_give_one_ensemble_or_are_in_none_are_named() -> None:
    assert list(CHECKS["few_ensembles"](plan(4))) == []
    one = list(CHECKS["few_ensembles"](plan(3)))
    assert one[0].startswith("networks: 3 pretraining seeds give one ensemble of 2, so that")
    assert one[1].startswith("networks: 1 of 3 pretraining seeds are in no ensemble of 2")


def test_power_is_that_of_the_ensembles() -> None:
    line, single = (power_line(plan(seeds)) or "" for seeds in (4, 2))
    assert line.startswith("2 pretraining seeds detect differences")
    assert single.startswith("one pretraining seed cannot show")
    assert line.endswith(one := "; an ensemble of 2 counts as one seed") and single.endswith(one)


def test_a_baseline_has_no_networks() -> None:
    grid = {"model": {"guess": {"pretrain.recipe": "majority"}, "single": {}}}
    given = declared({"pretrain": 4}, grid=grid)
    given["pretrain"] = {name: v for name, v in given["pretrain"].items() if name == "recipe"}
    given["evaluate"]["ensemble"] = OVER
    guess = next(arm for arm in from_data(given).arms if arm.name == "guess")
    assert guess.networks == 1 and guess.replicates((0, 1, 2)) == [(0,), (1,), (2,)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ensemble": {**OVER, "average": "weights"}}, "average must be outputs where members are"),
        (
            {"ensemble": OVER, "suite": "micro-sts-v1", "tasks": ["micro-sts"]},
            "micro-sts has no train set, so that each network is scored alone",
        ),
        (
            {"ensemble": OVER, "protocol": {"answer": "text"}},
            "micro-rte is answered as text; leave out the task",
        ),
    ],
)
def test_unsuited_tasks_and_averages_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Evaluate.model_validate({**FAST, "tasks": TASKS, **fields})


@pytest.mark.parametrize(
    ("seeds", "pretrain", "message"),
    [
        ({"pretrain": 1}, {}, "needs 2 pretraining seeds, but seeds.pretrain has 1"),
        ({"pretrain": 4, "world": "per_seed"}, {}, "members would be of different worlds"),
        ({"pretrain": 4, "looks": [2]}, {}, "or leave out seeds.looks"),
        (
            {"pretrain": 4},
            {"checkpoint_fractions": [0.5]},
            "or leave out pretrain.checkpoint_fractions",
        ),
    ],
)
def test_unsuited_seeds_and_runs_are_refused(
    seeds: dict[str, Any], pretrain: dict[str, Any], message: str
) -> None:
    given = declared(seeds)
    given["pretrain"] |= pretrain
    with pytest.raises(DeclarationError, match=r"ensemble\.over must be left out .*" + message):
        from_data(given)
