"""Outages of a server are waited for, visibly and up to a limit; by a virtual clock."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from benchmarks.tracking_server import free_port
from harness.cli.app import app
from harness.store import mlflow_runs, outages
from harness.store.mlflow_runs import Server
from harness.store.outages import Outages, check_connection, outages_of
from harness.store.server_errors import ServerAwayError


@dataclass
class Clock:
    """A clock that only waiting moves."""

    now: float = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    names = {"sleep": found.sleep, "monotonic": found.monotonic}
    monkeypatch.setattr(outages, "time", SimpleNamespace(**names))
    monkeypatch.setattr(outages, "_known", {})
    return found


def away_until(clock: Clock, end: float) -> Callable[[], str]:
    """A call that fails before `end`."""

    def call() -> str:
        if clock.now < end:
            raise ServerAwayError("Connection refused")
        return "answer"

    return call


def test_a_short_outage_is_waited_for(clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    server = Outages("http://host", 300)
    assert server.call(away_until(clock, 130)) == "answer"
    assert 130 <= clock.now < 145
    first, second, third, last = caplog.messages
    reason = "s (HARNESS_SERVER_SECONDS) for MLflow at http://host: Connection refused"
    assert first == f"waiting up to 300 {reason}"
    assert reason in second and reason in third  # one a minute
    assert last == "MLflow at http://host answers again"


def test_a_long_outage_is_an_error_after_the_limit(clock: Clock) -> None:
    """Once: later calls fail at their first attempt, until the server is back."""
    server = Outages("http://host", 60)
    for _ in range(3):
        with pytest.raises(OSError, match=r"^MLflow at http://host: Connection refused; waited"):
            server.call(away_until(clock, 1000))
        assert clock.now == 60
    clock.now = 1000
    assert server.call(away_until(clock, 1000)) == "answer"
    assert server.call(away_until(clock, 1050)) == "answer"  # another outage is waited for


def test_after_an_interrupt_nothing_is_waited_for(clock: Clock) -> None:
    server = outages_of("http://host")
    with outages.without_waiting(), pytest.raises(OSError, match="refused"):
        server.call(away_until(clock, 1))
    assert clock.now == 0
    assert server.call(away_until(clock, 1)) == "answer"


def test_other_errors_and_local_files_are_not_waited_for(clock: Clock) -> None:
    with pytest.raises(ZeroDivisionError):
        Outages("http://host", 60).call(lambda: 1 / 0)
    with pytest.raises(OSError, match="refused"):
        outages_of("sqlite:////runs/mlflow.db").call(away_until(clock, 1))
    assert clock.now == 0


def test_a_silent_call_is_reported(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outages, "SILENT_SECONDS", 0)

    def until_reported() -> None:
        while not caplog.messages:
            pass

    Outages("http://host", 300).call(until_reported)
    assert caplog.messages[0].endswith("for MLflow at http://host: no answer yet")


@pytest.mark.parametrize("scheme", ["http", "postgresql", "postgresql+psycopg2"])
def test_a_dead_server_is_an_error_without_its_password(
    scheme: str, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(outages.LIMIT, "30")
    address = f"127.0.0.1:{free_port()}"
    server = Server(f"{scheme}://user:planted1@{address}", "study", None)
    caplog.set_level(logging.DEBUG, "harness")
    with pytest.raises(OSError, match=rf"^MLflow at .*{address}: .*refused") as failure:
        server.search("")
    assert clock.now == 30
    assert failure.value.__cause__ is None and failure.value.__suppress_context__
    assert caplog.messages and "planted1" not in "".join([str(failure.value), *caplog.messages])


def test_a_server_with_a_wrong_address_is_an_error_at_once(clock: Clock) -> None:
    with pytest.raises(OSError, match="unsupported URI 'nothing://") as failure:
        Server("nothing://user:planted1@host", "study", None).search("")
    assert "planted1" not in str(failure.value)
    with pytest.raises(OSError, match=r"psycopg9.*\[server\]"):
        mlflow_runs._translated(__import__, "psycopg9")


def test_what_cannot_be_probed_is_left_to_the_driver() -> None:
    for uri in ("postgresql://a,b:1,c/db", "postgresql:///db", "http://127.0.0.1:9", "s3://b/c"):
        check_connection(uri)


def test_the_limit_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(outages.LIMIT, "long")
    with pytest.raises(ValueError, match="HARNESS_SERVER_SECONDS must be a number of seconds"):
        outages.limit_seconds()


def test_an_interrupted_run_does_not_wait_for_a_dead_server(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    names = {"sleep": interrupt, "monotonic": clock.monotonic}
    monkeypatch.setattr(outages, "time", SimpleNamespace(**names))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://user:planted1@127.0.0.1:{free_port()}")
    done = CliRunner().invoke(app, ["run", "smoke", "--store", str(tmp_path / "runs")])
    assert done.exit_code == 130
    assert "interrupted: those that had finished of " in done.output
    assert "Traceback" not in done.output and "planted1" not in done.output
