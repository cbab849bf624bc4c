"""The multi-bootstrap against brute force, scipy, scikit-learn's metrics and hand computation."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.analysis.statistics.bootstrap import (
    Difference,
    Runs,
    bootstrap_scores,
    cluster_sums,
    compare,
    summarise,
)
from harness.tasks.metrics import METRICS


def runs(scores, pretrain=None, finetune=None, cell="score"):
    """Runs with fixed scores [num_runs] in every replicate; one fine-tuning run each by default."""
    scores = np.asarray(scores, dtype=float)
    return Runs(
        pretrain_seeds=np.arange(len(scores)) if pretrain is None else np.asarray(pretrain),
        finetune_seeds=np.zeros(len(scores), int) if finetune is None else np.asarray(finetune),
        scores={cell: np.tile(scores, (REPLICATES + 1, 1))},
    )


REPLICATES = 4000


def difference(first, second, seed=0, paired=True):
    rng = np.random.default_rng(seed)
    drawn = compare({"task": first}, {"task": second}, REPLICATES, rng, paired=paired)
    return drawn["task", "score"]


def bootstrap(labels, predictions, metrics, replicates, rng):
    """Scores of runs [num_runs, num_examples] on resamples, by the counts of the tasks' metrics."""
    names = ("no", "yes", "other")
    counts = {
        metric: np.stack([METRICS[metric].counts(labels, row, None, names) for row in predictions])
        for metric in metrics
    }
    from_counts = {metric: METRICS[metric].from_counts for metric in metrics}
    return bootstrap_scores(counts, from_counts, replicates, rng)


@pytest.mark.parametrize("name", ["accuracy", "f1", "macro_f1", "matthews", "pearson"])
@given(data=st.data())
@settings(max_examples=40)
def test_weights_are_repeated_examples(name, data):
    """A score from counts, weighted by draws, is the metric's own on the examples repeated."""
    size = data.draw(st.integers(2, 12))
    values = st.floats(-5, 5) if name == "pearson" else st.integers(0, 2).map(float)
    column = st.lists(values, min_size=size, max_size=size).map(np.array)
    labels, predictions = data.draw(column), data.draw(column)
    draws = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    if not draws.sum():
        return
    repeated = np.repeat(labels, draws), np.repeat(predictions, draws)
    if name == "pearson" and min(np.std(part) for part in repeated) < 1e-3:
        return  # undefined, or rounding noise, in the metric itself
    names = ("no", "yes", "other")
    counts = METRICS[name].counts(labels, predictions, None, names)
    score = METRICS[name].from_counts(draws @ counts)
    assert score == pytest.approx(METRICS[name](*repeated, names=names), abs=1e-9)


def test_spearman_is_exact_on_the_sample_and_close_on_resamples():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 300).astype(float)
    predictions = labels + 4 * rng.standard_normal(300)
    scores = bootstrap(labels, predictions[None], ["spearman"], 200, rng)["spearman"]
    exact = scipy.stats.spearmanr(labels, predictions).statistic
    assert scores[0, 0] == pytest.approx(exact, abs=1e-12)
    draws = rng.multinomial(300, [1 / 300] * 300)
    repeated = np.repeat(labels, draws), np.repeat(predictions, draws)
    counts = METRICS["spearman"].counts(labels, predictions, None, ())
    approximate = METRICS["spearman"].from_counts(draws @ counts)
    assert approximate == pytest.approx(scipy.stats.spearmanr(*repeated).statistic, abs=0.02)


def test_constant_predictions_score_zero_and_not_nan():
    labels, constant = np.array([0.0, 1.0, 1.0, 2.0]), np.full((1, 4), 0.1)
    for name in ("matthews", "pearson", "spearman"):
        scores = bootstrap(labels, constant, [name], 20, np.random.default_rng(0))[name]
        assert np.all(scores == 0)


def test_bootstrap_scores_by_hand():
    labels = np.array([1, 1, 0, 0])
    predictions = np.array([[1, 1, 0, 1], [0, 0, 0, 0]])
    scores = bootstrap(labels, predictions, ["accuracy", "f1"], 10, np.random.default_rng(0))
    assert scores["accuracy"].shape == scores["f1"].shape == (11, 2)
    assert scores["accuracy"][0] == pytest.approx([0.75, 0.5])
    assert scores["f1"][0] == pytest.approx([0.8, 0.0])
    # Each replicate scores all runs on the same four examples, whose mean has steps of 1/4.
    assert np.all(np.isin(scores["accuracy"], np.arange(5) / 4))


def test_metrics_with_as_many_units_share_the_resamples():
    rng = np.random.default_rng(0)
    counts = {"one": rng.random((2, 30, 1)), "other": rng.random((2, 20, 1))}
    counts["wide"] = np.concatenate([counts["one"], np.ones((2, 30, 1))], axis=2)
    first = {name: lambda sums: sums[..., 0] for name in counts}
    scores = bootstrap_scores(counts, first, 50, np.random.default_rng(4))
    assert scores["one"] == pytest.approx(scores["wide"], abs=1e-12)
    assert np.corrcoef(scores["one"][1:, 0], scores["other"][1:, 0])[0, 1] < 0.5
    # The draws of one number of units do not depend on which metrics are computed.
    alone = bootstrap_scores({"one": counts["one"]}, first, 50, np.random.default_rng(4))
    assert scores["one"] == pytest.approx(alone["one"], abs=1e-12)


def test_every_resample_draws_as_many_units_as_there_are():
    ones = {"number": np.ones((1, 17, 1))}
    total = {"number": lambda sums: sums[..., 0]}
    assert np.all(bootstrap_scores(ones, total, 30, np.random.default_rng(0))["number"] == 17)


def test_bootstrap_scores_in_chunks_follow_one_stream(monkeypatch):
    labels, predictions = np.arange(50) % 2, (np.arange(50) % 3 == 0).astype(int)[None]
    draw = [labels, predictions, ["accuracy"], 40]
    whole = bootstrap(*draw, np.random.default_rng(5))["accuracy"]
    monkeypatch.setattr("harness.analysis.statistics.bootstrap.CHUNK", 50 * 7)
    parts = bootstrap(*draw, np.random.default_rng(5))["accuracy"]
    assert whole == pytest.approx(parts, abs=1e-12)  # sums in another order


@pytest.mark.parametrize("name", ["accuracy", "f1", "matthews"])
def test_whole_clusters_are_drawn_and_scored(name):
    """Against a cluster bootstrap that concatenates the examples of the drawn clusters."""
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(12), rng.integers(1, 9, 12))
    rng.shuffle(clusters)
    labels = rng.integers(2, size=len(clusters))
    predictions = np.where(rng.random(12)[clusters] < 0.7, labels, 1 - labels)
    metric = METRICS[name]
    counts = cluster_sums(metric.counts(labels, predictions, None, ("no", "yes")), clusters)
    of_groups = bootstrap_scores(
        {name: counts[None]}, {name: metric.from_counts}, 50, np.random.default_rng(1)
    )[name][:, 0]
    members = [np.flatnonzero(clusters == cluster) for cluster in range(12)]
    draws = [np.arange(12), *np.random.default_rng(1).integers(12, size=(50, 12))]
    for score, drawn in zip(of_groups, draws, strict=True):
        rows = np.concatenate([members[cluster] for cluster in drawn])
        assert score == pytest.approx(metric(labels[rows], predictions[rows], names=("no", "yes")))


def test_clusters_of_one_are_the_units_themselves():
    counts = np.random.default_rng(0).random((20, 3))
    assert np.array_equal(cluster_sums(counts, np.arange(20)), counts)


@pytest.mark.parametrize("shape", [(1, 0, 2), (3, 2)])
def test_bootstrap_scores_refuses(shape):
    with pytest.raises(ValueError, match="at least one unit, but those of accuracy are"):
        bootstrap_scores({"accuracy": np.zeros(shape)}, {}, 5, np.random.default_rng(0))


def test_with_one_seed_it_agrees_with_scipys_bootstrap():
    """One seed an arm leaves the paired bootstrap over examples, which scipy has."""
    rng = np.random.default_rng(3)
    labels = np.ones(200)
    predictions = (rng.random((2, 200)) < [[0.8], [0.7]]).astype(float)
    scores = bootstrap(labels, predictions, ["accuracy"], 4000, rng)["accuracy"]
    sides = [Runs(np.array([0]), np.array([0]), {"accuracy": scores[:, i : i + 1]}) for i in (0, 1)]
    drawn = compare({"t": sides[0]}, {"t": sides[1]}, 4000, rng, paired=True)
    ours = summarise(drawn["t", "accuracy"])
    theirs = scipy.stats.bootstrap(
        (predictions[0], predictions[1]),
        lambda a, b, axis: np.mean(a, axis=axis) - np.mean(b, axis=axis),
        paired=True,
        n_resamples=4000,
        method="percentile",
        rng=rng,
    ).confidence_interval
    assert ours.estimate == pytest.approx(predictions[0].mean() - predictions[1].mean())
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.012)


def brute_force(first, second, labels, replicates, rng):
    """The multi-bootstrap of accuracy as loops, for arms [pretrain, finetune, examples]."""
    out = []
    for _ in range(replicates):
        examples = rng.integers(len(labels), size=len(labels))
        seeds = rng.integers(len(first), size=len(first))
        means = []
        choices = [rng.integers(first.shape[1], size=first.shape[1]) for _ in seeds]
        for arm in (first, second):
            right = arm[:, :, examples] == labels[examples]
            means.append(
                np.mean([np.mean(right[s][c]) for s, c in zip(seeds, choices, strict=True)])
            )
        out.append(means[0] - means[1])
    return np.array(out)


def test_seeds_and_examples_agree_with_brute_force():
    rng = np.random.default_rng(7)
    labels = np.ones(80)
    skill = np.array([0.8, 0.6])[:, None, None, None] + 0.1 * rng.standard_normal((2, 3, 2, 1))
    arms = (rng.random((2, 3, 2, 80)) < skill).astype(float)
    scores = bootstrap(labels, arms.reshape(12, 80), ["accuracy"], REPLICATES, rng)
    pretrain, finetune = np.repeat(np.arange(3), 2), np.tile(np.arange(2), 3)
    sides = [
        Runs(pretrain, finetune, {"score": scores["accuracy"][:, 6 * i : 6 * i + 6]})
        for i in (0, 1)
    ]
    ours = difference(*sides)
    loops = brute_force(arms[0], arms[1], labels, 3000, rng)
    assert ours[0] == pytest.approx(arms[0].mean() - arms[1].mean())
    assert np.std(ours[1:]) == pytest.approx(np.std(loops), rel=0.06)
    quantiles = [0.025, 0.5, 0.975]
    assert np.quantile(ours[1:], quantiles) == pytest.approx(
        np.quantile(loops, quantiles), abs=0.02
    )


def test_two_pretraining_seeds_are_drawn_as_a_coin_is():
    drawn = difference(runs([0.0, 1.0]), runs([0.0, 0.0]))[1:]
    shares = [np.mean(drawn == value) for value in (0.0, 0.5, 1.0)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.03)


def test_spread_of_nested_seeds_has_its_closed_form():
    """Variance of the mean: (between + within / F) / S, with variances over S and F themselves."""
    rng = np.random.default_rng(2)
    scores = rng.standard_normal((4, 3))
    arm = runs(scores.ravel(), np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4))
    none = runs(np.zeros(12), np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4))
    between = np.var(scores.mean(axis=1))
    within = np.mean(np.var(scores, axis=1))
    expected = (between + within / 3) / 4
    assert np.var(difference(arm, none)[1:]) == pytest.approx(expected, rel=0.08)


def test_pretraining_seeds_count_the_same_whatever_their_runs():
    uneven = runs([1.0, 0.0, 0.0, 0.0], pretrain=[0, 1, 1, 1], finetune=[0, 0, 1, 2])
    assert difference(uneven, runs([0.0, 0.0]))[0] == pytest.approx(0.5)


def test_paired_arms_share_their_draws_and_others_do_not_whatever_their_numbers():
    first, shifted = runs([0.1, 0.5, 0.9]), np.array([0.0, 0.4, 0.8])
    paired = difference(first, runs(shifted))
    assert paired == pytest.approx(np.full(REPLICATES + 1, 0.1))
    for numbers in ([3, 4, 5], [0, 1, 2]):
        apart = difference(first, runs(shifted, pretrain=numbers), paired=False)
        assert np.std(apart) == pytest.approx(np.sqrt(2 * np.var(shifted) / 3), rel=0.1)
    with pytest.raises(ValueError, match=r"same seeds, but have 0, 1, 2 and 3, 4, 5"):
        difference(first, runs(shifted, pretrain=[3, 4, 5]))


def test_fine_tuning_seeds_share_their_draws_only_if_all_seeds_are_equal():
    """Equal scores: with shared draws the difference is 0 in every replicate."""
    scores, pretrain = [0.1, 0.5, 0.9, 0.3], [0, 0, 1, 1]
    arm = runs(scores, pretrain=pretrain, finetune=[0, 1, 0, 1])
    assert not difference(arm, runs(scores, pretrain=pretrain, finetune=[0, 1, 0, 1])).any()
    others = difference(arm, runs(scores, pretrain=pretrain, finetune=[2, 3, 2, 3]))
    assert others[0] == 0 and others[1:].any()


def test_equal_fine_tuning_seeds_of_other_checkpoints_share_no_draws():
    """Two runs of checkpoint 0 and one of 1, against one and two; checkpoints have equal weight."""
    first = runs([0.0, 0.4, 0.8], pretrain=[0, 0, 1], finetune=[0, 1, 0])
    second = runs([0.1, 0.5, 0.7], pretrain=[0, 1, 1], finetune=[0, 1, 0])
    drawn = difference(first, second)
    assert drawn[0] == pytest.approx((0.2 + 0.8) / 2 - (0.1 + 0.6) / 2)


def test_an_interval_within_a_scale_includes_its_estimate():
    """Of a metric from elsewhere that leaves its scale, too."""
    found = Difference(estimate=2.0, low=-1.0, high=5.0, p_value=0.3)
    ends = [(found.within(*scale).low, found.within(*scale).high)
            for scale in ((0, 3), (-9, 9), (3, 9), (-9, 1))]  # fmt: skip
    assert ends == [(0, 3), (-1, 5), (2, 5), (-1, 2)]


def test_a_difference_the_other_way_round():
    found = Difference(estimate=2.0, low=-1.0, high=5.0, p_value=0.3, num_seeds=4)
    assert found.turned == Difference(estimate=-2.0, low=-5.0, high=1.0, p_value=0.3, num_seeds=4)
    assert found.turned.turned == found


def test_identical_arms_differ_by_nothing():
    arm = runs([0.1, 0.5, 0.9, 0.3], pretrain=[0, 0, 1, 1], finetune=[0, 1, 0, 1])
    found = summarise(difference(arm, arm))
    assert (found.estimate, found.low, found.high, found.p_value) == (0, 0, 0, 1)


def test_tasks_share_the_draw_of_pretraining_seeds():
    arm = {task: runs([0.1, 0.5, 0.9]) for task in ("one", "two")}
    other = {task: runs([0.2, 0.3], pretrain=[7, 8]) for task in ("one", "two")}
    drawn = compare(arm, other, REPLICATES, np.random.default_rng(0), paired=False)
    assert np.array_equal(drawn["one", "score"], drawn["two", "score"])


def test_a_seed_that_a_task_lacks_is_left_out_of_all():
    full, part = runs([0.1, 0.5, 0.9]), runs([0.2, 0.4], pretrain=[0, 1])
    zero = {"one": runs([0.0] * 3), "two": runs([0.0] * 3)}
    rng = np.random.default_rng(0)
    both = compare({"one": full, "two": part}, zero, REPLICATES, rng, paired=False)
    assert both["one", "score"][0] == pytest.approx(0.3)
    alone = compare({"one": full}, {"one": zero["one"]}, REPLICATES, rng, paired=False)
    assert alone["one", "score"][0] == pytest.approx(0.5)
    apart = {"one": full, "two": runs([0.2], pretrain=[9])}
    with pytest.raises(ValueError, match="pretraining seed that all tasks have"):
        compare(apart, zero, REPLICATES, rng, paired=False)


def test_different_tasks_are_refused():
    with pytest.raises(ValueError, match="same tasks"):
        compare(
            {"one": runs([1.0])}, {"two": runs([1.0])}, 9, np.random.default_rng(0), paired=True
        )


def test_another_number_of_resamples_is_refused():
    arm, rng = {"one": runs([1.0])}, np.random.default_rng(0)
    with pytest.raises(ValueError, match=rf"resamples of the examples, {REPLICATES}, but is 9"):
        compare(arm, arm, 9, rng, paired=True)


def test_equal_generators_give_equal_numbers_and_others_do_not():
    first, second = runs([0.1, 0.5, 0.9]), runs([0.2, 0.2, 0.7], pretrain=[4, 5, 6])
    one, again, other = (difference(first, second, seed, paired=False) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_summarise_by_hand():
    found = summarise(np.array([3.0, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8]))
    assert found.estimate == 3
    assert found.p_value == pytest.approx(2 * (0.1 + 0.05))
    assert (found.low, found.high) == pytest.approx((-0.775, 7.775))
    assert summarise(np.arange(1.0, 102)).p_value == pytest.approx(2 / 100)
    assert summarise(np.array([3.0, 3.0])).p_value == 1  # one replicate shows nothing


def test_what_is_not_finite_is_refused():
    """Else its share below zero would be 0, and p as small as it can be."""
    with pytest.raises(ValueError, match="replicates must be finite, but 1 of 4 are not"):
        summarise(np.array([1.0, 2.0, np.nan, 3.0]))


def test_interval_covers_the_truth():
    """Nominal 95 %; eight seeds an arm shrink the seed spread to 0.94, so about 93 is due."""
    rng = np.random.default_rng(11)
    means, sd = np.repeat([0.6, 0.3], 8)[:, None], 0.3
    truth = np.diff(scipy.stats.norm.cdf(np.array([0.3, 0.6]) / np.sqrt(1 + sd**2)))[0]
    covered, trials, replicates = 0, 200, 300
    for _ in range(trials):
        # A run is right where its skill exceeds the difficulty that the example has for all runs.
        skill = means + sd * rng.standard_normal((16, 1))
        predictions = (skill > rng.standard_normal(100)).astype(float)
        scores = bootstrap(np.ones(100), predictions, ["accuracy"], replicates, rng)
        sides = [
            Runs(numbers, np.zeros(8), {"score": scores["accuracy"][:, half]})
            for numbers, half in ((np.arange(8), slice(8)), (np.arange(8, 16), slice(8, 16)))
        ]
        drawn = compare({"t": sides[0]}, {"t": sides[1]}, replicates, rng, paired=False)
        found = summarise(drawn["t", "score"])
        covered += found.low <= truth <= found.high
    assert 0.87 <= covered / trials <= 0.98
