"""Several nodes that compute a stage together, as threads of one machine: what they compute, and
what happens when one of them fails."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.core.compute import Compute
from harness.execution import nodes
from harness.execution.backends.remote import nodes_of
from harness.execution.job import Node, StageJob, Workspace
from harness.execution.nodes import NodeError, follow, lead
from harness.execution.worker import run_stage
from harness.pretraining import distributed
from tests.execution.rank_functions import add, fail

TWO = Compute(accelerator="cpu", num_nodes=2, micro_batch_tokens=64)
PHASES = {"phases": [{"sequence_length": 16}]}
JOB = StageJob("pretrain", "key", {"pretrain": PHASES}, {}, TWO)


def computed(function: Callable[..., Any], folder: Path, job: StageJob = JOB) -> tuple[Any, Any]:
    """What the first of two nodes returns, and the end of the other; the first holds the lease."""
    leads: Future[Any]
    with ThreadPoolExecutor(2) as threads:
        leads = threads.submit(lead, function, job, folder, lambda: None)
        other = threads.submit(
            follow, function, job, folder, Node(1, "a"), lambda: not leads.done()
        )
    return leads, other


def test_nodes_with_several_devices_are_numbered_through(tmp_path: Path) -> None:
    compute = TWO.model_copy(update={"devices": 2})
    job = StageJob("pretrain", "key", {"pretrain": PHASES}, {}, compute)
    first, other = computed(add, tmp_path, job)
    assert first.result() == [0 + 1 + 2 + 3, 4, 64]
    assert other.result() is None


@pytest.mark.campaign
def test_nodes_begin_again_with_less_memory(tmp_path: Path) -> None:
    first, other = computed(partial(fail, "memory", 1), tmp_path)
    assert first.result() == [1, 2, 16]  # after 64 and 32
    assert other.result() is None


@pytest.mark.parametrize(
    ("how", "node", "error", "message"),
    [
        ("error", 1, NodeError, "node 1: the loss is not finite"),
        pytest.param(
            *("error", 0, FloatingPointError, "the loss is not finite"),
            marks=pytest.mark.campaign,
        ),
        pytest.param(
            *("killed", 1, BrokenProcessPool, "node 1: process 0 of 1 of the stage died"),
            marks=pytest.mark.campaign,
        ),
    ],
)
def test_the_error_of_a_node_ends_all(
    tmp_path: Path, how: str, node: int, error: type[Exception], message: str
) -> None:
    first, other = computed(partial(fail, how, node), tmp_path)
    with pytest.raises(error, match=message):
        first.result()
    assert other.result() is None


@pytest.mark.campaign
def test_a_node_that_is_gone_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reports nothing, as after a power cut."""
    monkeypatch.setattr(nodes, "REPORT_SECONDS", 0.1)
    monkeypatch.setattr(nodes._Group, "report", lambda *_: None)
    first, _ = computed(partial(fail, "killed", 1), tmp_path)
    with pytest.raises(BrokenProcessPool, match="a node of the stage was lost"):
        first.result()


def test_a_node_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "JOIN_SECONDS", 0.0)
    with pytest.raises(TimeoutError, match="the first node must begin within 0 s; run again"):
        follow(add, JOB, tmp_path, Node(1, "a"), lambda: False)


def test_only_pretraining_takes_several_nodes() -> None:
    assert [node.index for node in nodes_of(JOB)] == [0, 1]
    assert len({node.attempt for node in nodes_of(JOB)}) == 1
    assert nodes_of(JOB)[0].attempt != nodes_of(JOB)[0].attempt
    for kind, spec in (("finetune", JOB.spec), ("pretrain", {"checkpoint": "bert-base-uncased"})):
        assert len(nodes_of(StageJob(kind, "key", spec, {}, TWO))) == 1


def test_one_machine_refuses_several_nodes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"compute\.num_nodes must be 1 where .+, but is 2; add"):
        run_stage(JOB, Workspace(tmp_path))


def test_the_own_address() -> None:
    assert all(0 <= int(part) < 256 for part in distributed.own_address().split("."))
