"""Values of the quantities that expectations may be about."""

from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from harness.analysis.frames.adaptation import adaptation_costs_frame
from harness.analysis.frames.quantities import VALUES, quantity_values
from harness.analysis.frames.scores import SEQUENTIAL_COLUMNS
from harness.experiment.outcomes import LOSSES, QUANTITIES
from harness.leaderboard.build import experiment_comparer
from harness.plan.plan import SequentialScore
from harness.report.difference_tables import claimed_figure, claimed_interval
from harness.report.expectations import claims
from harness.report.expected_differences import values_of
from harness.report.verdict import judge
from tests.made_up_results import expecting, table_of


@pytest.fixture
def results(fabricate):
    """Three arms with three pretraining and two fine-tuning seeds of three tasks."""
    data = fabricate({"low": 0.8, "high": 0.8, "alone": 0.8})
    sizes = {"low": 1_000.0, "high": 30_000.0, "alone": 30_000.0}
    seconds = {"low": [1.0, 1.1, 1.2], "high": [2.0, 2.1, 2.3], "alone": [2.0]}
    rows = [
        (arm, task, seed, 0, size, 8 * size, 9e6 + seed, 10 * seconds[arm][seed], 5.0)
        for arm, size in sizes.items()
        for task in ("sst2", "mrpc")
        for seed in range(len(seconds[arm]))
    ]
    known = ["trained_parameters", "stored_bytes", "peak_memory_bytes", "seconds", "updates"]
    adaptation = pd.DataFrame(
        rows, columns=["arm", "task", "pretrain_seed", "finetune_seed", *known]
    )
    costs = [(arm, "pretrain", 60.0, 1e6, size, 2e12) for arm, size in sizes.items()]
    costs.append(("teacher of high", "pretrain", 60.0, 1e6, 1.0, 3e12))
    names = ["arm", "stage", "seconds", "tokens", "parameters", "flops"]
    return data.but(adaptation_costs=adaptation, costs=pd.DataFrame(costs, columns=names))


def verdicts_of(data):
    return [judge(one) for one in claims(data, experiment_comparer(data, table_of(data)))]


def test_every_quantity_has_values():
    assert VALUES.keys() == QUANTITIES.keys()
    assert set(LOSSES) <= QUANTITIES.keys()


def test_what_is_counted_has_one_value_per_arm(results):
    assert quantity_values(results, "parameters")["low"] == [1_000]
    assert quantity_values(results, "trained_parameters")["high"] == [30_000]
    assert quantity_values(results, "stored_bytes")["low"] == [8_000]
    flops = quantity_values(results, "flops")
    assert (flops["low"], flops["high"]) == ([2e12], [5e12])  # with the teacher


def test_seconds_and_memory_have_a_value_per_seed(results):
    assert quantity_values(results, "finetuning_seconds")["high"] == pytest.approx([20, 21, 23])
    assert quantity_values(results, "peak_memory_bytes")["low"] == pytest.approx(
        [9e6 + s for s in range(3)]
    )


def test_memory_without_a_spread_is_exact(results):
    """It is calculated, so that an interval of no width would say nothing."""
    costs = results.get(adaptation_costs_frame)
    memory = costs["arm"].map({"low": 1e9, "high": 3e9, "alone": 3e9})

    def verdict(memory: "pd.Series[float]"):
        data = results.but(adaptation_costs=costs.assign(peak_memory_bytes=memory))
        (found,) = verdicts_of(expecting(data, ("low", "high", "peak_memory_bytes")))
        return found

    same, varied = verdict(memory), verdict(memory + costs["pretrain_seed"])
    assert same.claim.found.is_exact and same.claim.found.estimate == -2e9
    assert same.word == varied.word == "confirmed"
    assert same.reason == "the same in every run, so without an interval"
    assert not varied.claim.found.is_exact


def test_gaps_pair_values_by_seed(results):
    """Pretraining seeds may be declared in any order."""
    rows = [(arm, seed, 60.0, 1.0 + seed, 1.0) for arm in ("low", "high") for seed in (2, 0, 1)]
    names = ["arm", "pretrain_seed", "seconds", "loss", "bits_per_byte"]
    data = results.but(pretraining=pd.DataFrame(rows, columns=names))
    (own,) = expecting(data, ("low", "high", "finetuning_seconds")).experiment.expectations
    gap = own.model_copy(update={"outcome": "finetuning_seconds - loss"})
    assert values_of(data, gap)["low"] == pytest.approx([10 - 1, 11 - 2, 12 - 3])


def test_arms_whose_parts_of_a_gap_have_other_seeds_have_no_gap(results):
    """The last seed of `low` has no loss yet."""
    rows = [(arm, seed, 60.0, 1.0, 1.0) for arm in ("low", "high") for seed in range(3)]
    names = ["arm", "pretrain_seed", "seconds", "loss", "bits_per_byte"]
    frame = pd.DataFrame(rows, columns=names).drop(2)
    data = results.but(pretraining=frame)
    (own,) = expecting(data, ("low", "high", "finetuning_seconds")).experiment.expectations
    gap = own.model_copy(update={"outcome": "finetuning_seconds - loss"})
    assert values_of(data, gap).keys() == {"high"}


def test_what_is_counted_may_be_a_part_of_a_gap(results):
    data = expecting(results, ("low", "high", "peak_memory_bytes"))
    (own,) = data.experiment.expectations
    gap = own.model_copy(update={"outcome": "peak_memory_bytes - stored_bytes"})
    assert values_of(data, gap)["low"] == pytest.approx([9e6 + s - 8_000 for s in range(3)])
    turned = own.model_copy(update={"outcome": "stored_bytes - peak_memory_bytes"})
    assert values_of(data, turned)["low"] == pytest.approx([8_000 - 9e6 - s for s in range(3)])


def test_the_spread_is_that_of_fine_tuning_seeds(results):
    """Main metrics of GLUE: accuracy of SST-2, F1 of MRPC, Spearman of STS-B."""
    frame = results.scores
    main = {"sst2": "accuracy", "mrpc": "f1", "stsb": "spearman"}
    own = frame[(frame["arm"] == "low") & (frame["metric"] == frame["task"].map(main))]
    assert len(own) == 3 * 3 * 2
    expected = [
        np.mean([100 * one["value"].std(ddof=1) for _, one in of_seed.groupby("task")])
        for _, of_seed in own.groupby("pretrain_seed")
    ]
    assert quantity_values(results, "finetuning_spread")["low"] == pytest.approx(expected)


def test_the_weights_of_the_head_do_not_count(results):
    rows = [
        ("low", "sst2", seed, 0, record, layer, "", value + seed, None)
        for seed in (0, 1)
        for record, layer, value in (
            ("weight_change", "embeddings", 1.0),
            ("weight_change", "layer 1", 3.0),
            ("weight_change", "head", 90.0),
            ("effective_rank", "layer 1", 50.0),
        )
    ]
    columns = [
        "arm",
        "task",
        "pretrain_seed",
        "finetune_seed",
        "record",
        "layer",
        "name",
        "value",
        "step",
    ]
    data = results.but(diagnostics=pd.DataFrame(rows, columns=columns))
    assert quantity_values(data, "weight_change") == {"low": pytest.approx([2.0, 3.0])}


def layer_records(record, layers, seeds=(0, 1)):
    """Rows of two tasks, of which the second has twice the values."""
    rows = [
        ("low", task, seed, 0, record, layer, "", factor * value * (1 + seed), None)
        for task, factor in (("sst2", 1.0), ("mrpc", 2.0))
        for seed in seeds
        for layer, value in layers.items()
    ]
    columns = "arm task pretrain_seed finetune_seed record layer name value step".split()
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (("layer 1", "layer 2", "layer 3"), (0, 2)),
        (("encoder 1", "encoder 2", "decoder 1", "decoder 2"), (0, 3)),
        (("layer 1",), (0, 0)),
    ],
)
def test_the_change_of_a_layer_is_that_of_an_end(results, names, ends):
    layers = {"embeddings": 7.0, **dict(zip(names, (0.1, 0.5, 0.2, 0.3), strict=False)), "head": 9}
    data = results.but(diagnostics=layer_records("weight_change", layers))
    for place, end in zip(ends, ("bottom", "top"), strict=True):
        value = 1.5 * layers[names[place]]
        found = quantity_values(data, f"weight_change/{end}_layer")
        assert found == {"low": pytest.approx([value, 2 * value])}


def test_changed_words_are_counted_above_chance(results):
    rows = [
        (
            "low",
            task,
            seed,
            0,
            "changed_words",
            "",
            name,
            value + 0.1 * seed * (name != "chance"),
            None,
        )
        for task, strongest, chance in (("sst2", 0.5, 0.25), ("mrpc", 0.9, 0.45))
        for seed in (0, 1)
        for name, value in (("strongest", strongest), ("chance", chance))
    ]
    columns = layer_records("", {}).columns
    data = results.but(diagnostics=pd.DataFrame(rows, columns=columns))
    expected = [100 * (0.25 + 0.45) / 2, 100 * (0.35 + 0.55) / 2]
    assert quantity_values(data, "changed_words") == {"low": pytest.approx(expected)}
    assert (
        quantity_values(results.but(diagnostics=pd.DataFrame(columns=columns)), "changed_words")
        == {}
    )


def test_imbalance_is_in_orders_of_magnitude_and_has_no_sign(results):
    for bottom, top, expected in ((0.2, 2.0, 1.0), (50.0, 0.5, 2.0), (3.0, 3.0, 0.0)):
        layers = {"embeddings": 100.0, "layer 1": bottom, "layer 2": 17.0, "layer 3": top}
        data = results.but(diagnostics=layer_records("first_gradient_norms", layers))
        found = quantity_values(data, "gradient_imbalance")
        assert found == {"low": pytest.approx([expected, expected])}


def test_layers_without_gradient_have_no_imbalance(results):
    for layers in ({"head": 1.0}, {"layer 1": 0.0, "layer 2": 1.0}, {"layer 1": 0, "layer 2": 0}):
        data = results.but(diagnostics=layer_records("first_gradient_norms", layers))
        assert quantity_values(data, "gradient_imbalance") == {}


def test_overfitting_is_the_training_score_minus_the_reported_one(results):
    """Main metrics of GLUE: accuracy of SST-2, F1 of MRPC."""
    main = {"sst2": "accuracy", "mrpc": "f1"}
    rows = [
        ("low", task, seed, run, "train_scores", "", metric, 0.9 + run / 100, None)
        for task, metric in main.items()
        for seed in range(3)
        for run in range(2)
    ]
    seeds = ["pretrain_seed", "finetune_seed"]
    columns = ["arm", "task", *seeds, "record", "layer", "name", "value", "step"]
    data = results.but(diagnostics=pd.DataFrame(rows, columns=columns))
    frame = data.scores
    chosen = (frame["arm"] == "low") & (frame["metric"] == frame["task"].map(main))
    reported = frame[chosen].groupby("pretrain_seed")["value"].mean().to_numpy()
    assert quantity_values(data, "overfitting") == {"low": pytest.approx(100 * (0.905 - reported))}


def test_forgetting_is_of_each_seed(results):
    """Seed 0 forgets 30 points of SST-2; seed 1 gains 10."""
    rows = [
        ("low", seed, 0, after, task, "validation", metric, value)
        for seed, last in ((0, 0.6), (1, 1.0))
        for after, task, metric, value in (
            ("sst2", "sst2", "accuracy", 0.9),
            ("mrpc", "sst2", "accuracy", last),
            ("mrpc", "mrpc", "f1", 0.5),
        )
    ]
    data = results.but(sequential=pd.DataFrame(rows, columns=SEQUENTIAL_COLUMNS))
    assert quantity_values(data, "forgetting") == {"low": pytest.approx([30, -10])}


def test_a_run_without_a_score_leaves_its_arm_without_forgetting(results):
    """One of two runs forgets so much that it predicts a constant, whose correlation is undefined:
    the other, which forgets nothing, does not stand for both."""
    rows = [
        ("low", 0, run, after, task, "validation", metric, value)
        for run, last in ((0, 0.8), (1, np.nan))
        for after, task, metric, value in (
            ("stsb", "stsb", "spearman", 0.8),
            ("mrpc", "stsb", "spearman", last),
            ("mrpc", "mrpc", "f1", 0.5),
        )
    ]
    data = results.but(sequential=pd.DataFrame(rows, columns=SEQUENTIAL_COLUMNS))
    assert quantity_values(data, "forgetting") == {}
    known = data.but(sequential=data.sequential.fillna(0.6))
    assert quantity_values(known, "forgetting") == {"low": pytest.approx([10])}


def test_a_run_without_a_score_leaves_its_arm_without_a_spread(fabricate):
    data = fabricate({"low": 0.8, "high": 0.8}, tasks=("stsb",), seeds=(2, 3))
    first = (data.scores["arm"] == "low") & (data.scores["finetune_seed"] == 0)
    undefined = data.but(scores=data.scores.assign(value=data.scores["value"].mask(first)))
    assert quantity_values(data, "finetuning_spread").keys() == {"low", "high"}
    assert quantity_values(undefined, "finetuning_spread").keys() == {"high"}


@pytest.fixture
def unequal_tasks(fabricate):
    """Two arms that take 1 s for SST-2 and 100 s for MRPC; `low` has not finished MRPC."""
    data = fabricate({"low": 0.8, "high": 0.8}, tasks=("sst2", "mrpc"))
    seconds = {"sst2": 1.0, "mrpc": 100.0}
    runs = [run for run in data.finetune_runs if (run.arm, run.task) != ("low", "mrpc")]
    costs = pd.DataFrame(map(asdict, runs))
    costs["seconds"] = costs["task"].map(seconds)
    return data.but(adaptation_costs=costs), {run.key for run in runs}


def test_means_over_other_tasks_are_not_compared(unequal_tasks):
    data, finished = unequal_tasks
    data.__dict__["finished"] = {key: data.finished[key] for key in finished}
    assert quantity_values(data, "finetuning_seconds") == {"high": pytest.approx([50.5] * 3)}
    (one,) = verdicts_of(expecting(data, ("low", "high", "finetuning_seconds")))
    assert one.word == "inconclusive"


def test_arms_that_do_not_support_all_tasks_have_no_mean_over_them(unequal_tasks):
    data, _ = unequal_tasks
    data.plan = replace(data.plan, unsupported={("low", "mrpc"): "it cannot"})
    assert quantity_values(data, "finetuning_seconds").keys() == {"high"}


def test_seeds_that_have_not_learned_all_tasks_have_not_forgotten_all(results):
    rows = [
        ("low", seed, 0, after, task, "validation", metric, value)
        for seed, afters in ((0, ("sst2", "mrpc")), (1, ("sst2",)))
        for after in afters
        for task, metric, value in (("sst2", "accuracy", 0.9), ("mrpc", "f1", 0.5))
    ]
    data = results.but(sequential=pd.DataFrame(rows, columns=SEQUENTIAL_COLUMNS))
    open_one = SequentialScore("low", "mrpc", "sst2", 1, 0, "unfinished")
    data.plan = replace(data.plan, sequential_scores=(open_one,))
    assert quantity_values(data, "forgetting") == {"low": pytest.approx([0])}


def test_accuracy_of_the_generator_is_that_of_finished_runs():
    """By seed, in whatever order seeds are declared."""
    keys = {("rtd", 1): "b", ("rtd", 0): "a", ("rtd", 2): "unfinished", ("mlm", 0): "c"}
    accuracy = {"a": 0.5, "b": 0.25}
    data = SimpleNamespace(
        plan=SimpleNamespace(pretrain_keys=keys),
        metric=lambda key, name: {"validation_generator_accuracy": accuracy.get(key, np.nan)}[name],
    )
    assert quantity_values(data, "generator_accuracy") == {"rtd": pytest.approx([50, 25])}


def test_seconds_of_ensembles_are_those_of_networks_that_all_are_finished():
    """Two networks each, of seeds 0 and 1, and of 2 and 3, of which the last is not finished."""
    arms = [
        SimpleNamespace(name="single", replicates=lambda seeds: [(s,) for s in seeds]),
        SimpleNamespace(name="pairs", replicates=lambda seeds: [(2, 3), (0, 1)]),
    ]
    known = [("single", 1, 3.0), ("single", 0, 2.0), ("pairs", 2, 64.0)]
    known += [("pairs", 1, 7.0), ("pairs", 0, 5.0)]
    runs = pd.DataFrame(known, columns=["arm", "pretrain_seed", "seconds"])
    data = SimpleNamespace(
        plan=SimpleNamespace(arms=arms),
        experiment=SimpleNamespace(seeds=SimpleNamespace(pretrain=(0, 1, 2, 3))),
        get=lambda make: runs,
    )
    found = quantity_values(data, "pretraining_seconds")
    assert {arm: own.tolist() for arm, own in found.items()} == {"single": [2, 3], "pairs": [12]}


@pytest.mark.parametrize("layer", ["layer 1", "layer 3"])
def test_a_layer_of_an_unknown_norm_is_no_other_one(results, layer):
    """Its neighbour is not the end of the network."""
    layers = {"embeddings": 9.0, "layer 1": 1.0, "layer 2": 2.0, "layer 3": 3.0, "head": 9.0}
    records = layer_records("first_gradient_norms", {**layers, layer: np.nan})
    assert quantity_values(results.but(diagnostics=records), "gradient_imbalance") == {}


def test_a_task_without_a_number_leaves_its_seed_without_a_mean(results):
    """The other tasks do not stand for it."""
    costs = results.adaptation_costs
    lost = (costs["arm"] == "low") & (costs["task"] == "mrpc") & (costs["pretrain_seed"] == 1)
    data = results.but(adaptation_costs=costs.assign(seconds=costs["seconds"].mask(lost)))
    assert quantity_values(data, "finetuning_seconds").keys() == {"high", "alone"}


def test_arms_without_a_number_have_no_value(results):
    unknown = results.adaptation_costs.assign(seconds=np.nan)
    data = results.but(adaptation_costs=unknown)
    assert quantity_values(data, "finetuning_seconds") == {}
    (one,) = verdicts_of(expecting(data, ("low", "high", "finetuning_seconds")))
    assert one.word == "inconclusive"
    assert one.reason == "not every arm of the pair has a value of seconds of fine-tuning yet"


def test_what_is_counted_is_judged_without_an_interval_and_is_no_test(results):
    expect = [
        ("low", "alone", "parameters"),  # one seed is enough
        ("high", "low", "parameters"),
        ("alone", "high", "parameters"),
        ("low", "high", "finetuning_seconds"),
    ]
    *counted, tested = verdicts_of(expecting(results, *expect))
    assert [one.word for one in counted] == ["confirmed", "refuted", "refuted"]
    assert all(one.claim.adjusted is None for one in counted)
    assert tested.claim.adjusted == tested.claim.found.p_value  # Holm's correction of one test
    assert claimed_figure(counted[0].claim) == "−29,000 parameters"
    assert claimed_interval(counted[0].claim) == ""


def test_equal_runs_have_an_interval_of_no_width_in_words(results):
    costs = results.adaptation_costs
    equal = results.but(adaptation_costs=costs.assign(seconds=costs["arm"].map(len).astype(float)))
    (one,) = verdicts_of(expecting(equal, ("low", "high", "finetuning_seconds")))
    shown = "95 % interval of no width, as all runs of an arm are equal, p < 0.001"
    assert (one.word, claimed_interval(one.claim)) == ("confirmed", shown)
    (one,) = verdicts_of(expecting(equal, {"finetuning_seconds": "low above 3"}))
    assert claimed_interval(one.claim) == "95 % interval equal in every run, p 1.000"


def test_equal_within_a_margin_is_counted_too(results):
    expect = [
        {"parameters": "high = alone within 1"},
        {"parameters": "low = high within 29000"},
        {"parameters": "high <= low within 29001"},
        {"parameters": "high <= low within 29000"},
        {"parameters": "low <= high within 1"},
    ]
    words = [one.word for one in verdicts_of(expecting(results, *expect))]
    assert words == ["confirmed", "refuted", "confirmed", "refuted", "confirmed"]


def test_seconds_are_judged_by_welchs_interval(results):
    (one,) = verdicts_of(expecting(results, ("low", "high", "finetuning_seconds")))
    values = quantity_values(results, "finetuning_seconds")
    test = scipy.stats.ttest_ind(values["low"], values["high"], equal_var=False)
    assert one.word == "confirmed"
    assert one.claim.found.low == pytest.approx(test.confidence_interval().low)


def test_the_gap_between_two_quantities_of_one_unit_is_compared(results):
    gap = {"parameters - trained_parameters": "low above -1", "bits_per_byte": "low below 1"}
    (level, _) = verdicts_of(expecting(results, *({name: text} for name, text in gap.items())))
    assert level.word == "confirmed" and level.claim.found.estimate == 1
    assert str(level.claim.expectation) == "low above -1 in parameters - trained parameters"
    assert claimed_figure(level.claim) == "+1.000 parameters"
