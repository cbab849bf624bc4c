"""`harness ui`: the web interface of MLflow."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import options
from harness.core.signals import interrupts_deferred, terminated_as_interrupted
from harness.core.sqlite_files import sqlite_uri
from harness.store.outages import place_of

if TYPE_CHECKING:
    from harness.store.store import Store

END_SECONDS = 10.0
"""How long a server may take to end by itself."""
STEP_SECONDS = 1.0
"""How long to wait for a server at a time."""


def ui(
    experiment: Annotated[
        Path | None,
        typer.Argument(help="experiment whose runs to open (file or shipped name); all if omitted"),
    ] = None,
    port: Annotated[int, typer.Option(help="local port")] = 5000,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Serves the web interface of MLflow for the store. It listens on this machine only."""
    with options.clear_errors():
        found = options.opened_store(store)
        page = _page(experiment, found) if experiment else ""
        remote = os.environ.get("MLFLOW_TRACKING_URI", "")
        options.require(not remote, f"the store is on a server; open {place_of(remote)}/{page}")
    address = f"http://127.0.0.1:{port}/{page}"
    options.out.print(f"starting MLflow at {address}, which takes some seconds; Ctrl-C ends it")
    uri = sqlite_uri(found.runs.database)
    command = [sys.executable, "-m", "mlflow", "ui", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--backend-store-uri", uri]
    command += ["--uvicorn-opts", "--log-level warning"]
    sys.exit(serve(command))


def serve(command: Sequence[str]) -> int:
    """Runs a server until it ends, or until Ctrl-C, SIGTERM or SIGHUP; returns its exit code, or 0.
    No process that it has started remains."""
    # Jobs of MLflow, for judges of generated text, would take ten processes more.
    environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    server = None
    with terminated_as_interrupted():
        try:
            with interrupts_deferred():  # a server that is not known yet would remain
                # In a session of its own, it gets no Ctrl-C, at which it would print tracebacks.
                server = subprocess.Popen(command, env=environment, start_new_session=True)
            return _wait(server)
        except KeyboardInterrupt:
            return 0
        finally:
            if server:
                _end(server)


def _wait(server: "subprocess.Popen[bytes]") -> int:
    """The exit code of a server, when it has ended."""
    while True:
        # A wait without end is not interrupted by a signal that the system gives to another thread
        # of this process, and its handler would never run.
        with suppress(subprocess.TimeoutExpired):
            return server.wait(STEP_SECONDS)


def _end(server: "subprocess.Popen[bytes]") -> None:
    """Ends a server with all processes of its session."""
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            server.wait(END_SECONDS)
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def _page(experiment: Path, store: "Store") -> str:
    """The page of a study below the address of MLflow.

    Raises:
        ValueError: the experiment is invalid, or the store has no runs of it.
    """
    from harness.experiment.declaration import load

    name = load(experiment).experiment.name
    page = store.study_page(name)
    if page is None:
        raise ValueError(f"{store.place} has no runs of {name}; first: harness run {experiment}")
    return page
