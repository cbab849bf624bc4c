"""`harness ui`: the web interface of MLflow."""

import sys
from typing import Annotated

import typer

from harness.cli import options


def ui(
    port: Annotated[int, typer.Option(help="local port")] = 5000,
    store: options.StoreFolder = options.DEFAULT_STORE,
) -> None:
    """Serves the web interface of MLflow for the store, on this machine only."""
    import subprocess

    uri = f"sqlite:///{store.absolute() / 'mlflow.db'}"
    command = [sys.executable, "-m", "mlflow", "ui", "--host", "127.0.0.1"]
    sys.exit(subprocess.call([*command, "--port", str(port), "--backend-store-uri", uri]))
