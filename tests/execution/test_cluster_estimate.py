"""Hours and cost on a cluster, against a hand count."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.cli.app import app
from harness.core.compute import Compute
from harness.execution.cluster_estimate import DEVICES, Cluster, cluster_estimate
from harness.execution.time_left import Durations
from harness.plan.costs import SECONDS_PER_STAGE, SECONDS_PER_UPDATE, SUSTAINED_FLOPS
from harness.plan.plan import Stage
from tests.plan.checks.test_checks import planned

HOUR = 0.3 * 67e12 * 3600
"""FLOPs of an hour of an H100 in 32-true, at the assumed utilisation."""


def finetuning(key: str, hours: float) -> Stage:
    return Stage("finetune", key, key, {}, {}, hours * HOUR)


def test_names_of_clusters() -> None:
    assert Cluster.parse("8xH100") == Cluster.parse(" 8Xh100") == Cluster(8, "H100")
    assert Cluster.parse("64xcpu") == Cluster(64, "cpu")
    for text in ("H100", "0xH100", "8xH 100", "8*H100", "", "-1xcpu"):
        with pytest.raises(ValueError, match="must be a number of devices and their name, such as"):
            Cluster.parse(text)
    with pytest.raises(ValueError, match=r"'H10' is not known; did you mean 'H100'\? known: cpu"):
        Cluster.parse("8xH10")


def test_hours_and_their_cost() -> None:
    stages = [finetuning("a", 2), finetuning("b", 1), finetuning("c", 1)]
    found = cluster_estimate(stages, Durations(), Cluster(2, "H100"), Compute())
    assert found.seconds == pytest.approx(2 * 3600 + 2 * SECONDS_PER_STAGE)
    assert found.ideal_seconds == pytest.approx(2 * 3600 + 1.5 * SECONDS_PER_STAGE)
    assert found.device_hours == pytest.approx(4, rel=1e-3)
    hours, cost, assumed = found.lines(2.5)
    assert hours.startswith("on 2xH100: about 2.0 h for 3 stages, to an order of magnitude; 4.00")
    assert cost == "cost: about 10, at 2.5 per device-hour"
    assert "67 TFLOP/s in 32-true (NVIDIA H100 data sheet, SXM), 30 % of it used" in assumed
    assert len(found.lines()) == 2
    nothing = cluster_estimate([], Durations(), Cluster(2, "H100"), Compute())
    assert nothing.lines(1.0) == ["on 2xH100: nothing to compute"]
    unknown = cluster_estimate([finetuning("a", 0)], Durations(), Cluster(2, "H100"), Compute())
    (line,) = unknown.lines(1.0)
    assert line.startswith("on 2xH100: no stage has known FLOPs; those of a checkpoint")


def test_a_run_on_several_devices_takes_them_together() -> None:
    plan = planned({"budget": {"steps": 500}}, compute={"devices": 4})
    stages, compute = [*plan.stages.values()], plan.experiment.compute
    (run,) = [one for one in stages if one.kind == "pretrain"]
    fixed = SECONDS_PER_STAGE + 500 * SECONDS_PER_UPDATE
    alone = cluster_estimate([run], Durations(), Cluster(8, "cpu"), compute)
    assert alone.seconds == pytest.approx(fixed + run.flops / 4 / SUSTAINED_FLOPS)
    assert alone.busy_seconds == pytest.approx(4 * alone.seconds)
    with pytest.raises(ValueError, match=r"the 4 devices of a run .* but is 2xcpu"):
        cluster_estimate(stages, Durations(), Cluster(2, "cpu"), compute)


TRAINING = ("pretrain", "trial", "finetune")


def test_the_precision_is_that_of_training() -> None:
    plan = planned(compute={"precision": "bf16-mixed"})
    compute = plan.experiment.compute
    a100 = DEVICES["A100"]
    for one in plan.stages.values():
        if one.flops:
            peak = a100.bf16 if one.kind in TRAINING else a100.fp32
            found = cluster_estimate([one], Durations(), Cluster(1, "A100"), compute)
            updates = 500 * SECONDS_PER_UPDATE if one.kind == "pretrain" else 0
            fixed = SECONDS_PER_STAGE + updates
            assert found.seconds == pytest.approx(fixed + one.flops / 0.3 / peak)
    (_, assumed) = found.lines()
    assert "312 TFLOP/s in bf16-mixed for training and 19.5 in 32-true" in assumed


def test_a_budget_in_seconds_is_kept() -> None:
    plan = planned({"budget": {"seconds": 100}})
    (run,) = [one for one in plan.stages.values() if one.kind == "pretrain"]
    found = cluster_estimate([run], Durations(), Cluster(1, "H200"), Compute())
    assert found.seconds == 100 + SECONDS_PER_STAGE


def test_stages_without_flops_take_what_they_took_here() -> None:
    stages = [*planned().stages.values()]
    cluster, compute = Cluster(1, "cpu"), Compute()
    without = cluster_estimate(stages, Durations(), cluster, compute)
    assert without.left_out == {"tokenizer": 1, "tokenize": 1}
    assert "; left out: 1 tokenizer, 1 tokenize stages, without known" in without.lines()[-1]
    learned = Durations()
    learned.add("tokenizer", 0.0, 7.0)
    learned.add("tokenize", 0.0, 5.0)
    known = cluster_estimate(stages, learned, cluster, compute)
    assert known.seconds == pytest.approx(without.seconds + 7 + 5) and not known.left_out
    assert "left out" not in known.lines()[-1]


def test_on_the_command_line(tmp_path: Path) -> None:
    def call(*options: str) -> tuple[int, str]:
        store = ["--store", str(tmp_path / "runs")]
        result = CliRunner().invoke(app, ["plan", "quickstart", *options, *store])
        return result.exit_code, result.output

    code, output = call("--cluster", "8xh100", "--price", "2.5")
    assert code == 0 and "on 8xH100: about " in output
    hours = re.search(r"([\d.]+) device-hours", output)
    cost = re.search(r"cost: about ([\d.]+), at 2.5 per", output)
    assert hours and cost
    assert float(cost[1]) == pytest.approx(2.5 * float(hours[1]), abs=0.03)
    code, output = call("--cluster", "8xH10")
    assert code == 2 and "did you mean 'H100'" in output and "Traceback" not in output
    code, output = call("--price", "2.5")
    assert code == 2 and "--price needs a --cluster" in output
