"""Runs that are timed in turn: each has its turns, and one that fails is left out."""

from functools import partial
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.turns import Turns, num_updates, updates_per_second

WARMUP, STEPS, REPEATS = 2, 3, 2


def train(fails_at: int | None, pipe: Connection) -> None:
    clock = Turns(pipe, WARMUP, STEPS)
    for done in range(1, num_updates(WARMUP, STEPS, REPEATS) + 1):
        if done == fails_at:
            raise SystemExit
        clock.tick(done)


def test_each_run_has_its_turns_and_a_failed_one_is_left_out() -> None:
    runs = {
        "whole": partial(train, None),
        "fails_at_once": partial(train, 1),
        "fails_later": partial(train, 10),
    }
    found = updates_per_second(runs, REPEATS)
    assert list(found) == ["whole"]
    assert len(found["whole"]) == REPEATS
    assert min(found["whole"]) > 0


def test_only_the_updates_after_those_of_settling_are_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a run whose updates take 5 s while it settles, else 0.5 s, and that waits for 100 s."""
    now, sent = [0.0], list[float]()

    def wait() -> None:
        now[0] += 100

    pipe: Any = SimpleNamespace(send=sent.append, recv=wait)
    monkeypatch.setattr("benchmarks.turns.time", SimpleNamespace(perf_counter=lambda: now[0]))
    clock = Turns(pipe, WARMUP, STEPS)
    for done in range(1, 30):
        now[0] += 5 if clock.settles else 0.5
        clock.tick(done)
    assert len(sent) > 3
    assert set(sent[1:]) == {2.0}
