"""PostgreSQL and MLflow's server as processes of a benchmark or test, on loopback."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

POLL_SECONDS = 0.1
PATIENCE_SECONDS = 120


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _program(name: str) -> str:
    """The path of a program of PostgreSQL, which Debian puts beside the others of its version.

    Raises:
        FileNotFoundError: it is not installed.
    """
    places = [*Path("/usr/lib/postgresql").glob("*/bin"), Path("/usr/local/bin")]
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, places)))
    if not found:
        raise FileNotFoundError(f"PostgreSQL's {name} is not installed")
    return found


def _user() -> str | None:
    """The user that runs PostgreSQL, which refuses to run as root; null: this one.

    Raises:
        FileNotFoundError: this one is root, and there is no other.
    """
    if os.geteuid():
        return None
    if "postgres" not in {one.pw_name for one in pwd.getpwall()}:
        raise FileNotFoundError("PostgreSQL does not run as root; there is no user postgres")
    return "postgres"


class Database:
    """A PostgreSQL in a folder, which can be stopped and started again."""

    def __init__(self, folder: Path) -> None:
        """Creates the tables.

        Args:
            folder: a new one; folders above it are opened to PostgreSQL's user.

        Raises:
            FileNotFoundError: PostgreSQL is not installed, or no user may run it.
        """
        self.user, self.folder, self.port = _user(), folder, free_port()
        self.folder.mkdir(parents=True)
        if self.user:
            shutil.chown(self.folder, self.user)
            for above in self.folder.parents[:-2]:  # temporary folders are closed to other users
                above.chmod(above.stat().st_mode | 0o011)
        words = ["--auth=trust", "--username=mlflow", "--no-sync", str(self.folder)]
        self._run(_program("initdb"), *words)

    @property
    def address(self) -> str:
        """Its address for SQLAlchemy."""
        return f"postgresql+psycopg2://mlflow@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        options = f"-F -p {self.port} -c listen_addresses=127.0.0.1 -k ''"
        here = ["-D", str(self.folder), "-l", str(self.folder / "log")]
        self._run(_program("pg_ctl"), "start", "-w", *here, "-o", options)

    def stop(self) -> None:
        """Ends it with all connections."""
        self._run(_program("pg_ctl"), "stop", "-w", "-m", "immediate", "-D", str(self.folder))

    def _run(self, *command: str) -> None:
        quiet = subprocess.DEVNULL
        subprocess.run(command, check=True, stdout=quiet, cwd="/", user=self.user)


class TrackingServer:
    """MLflow's server with a port of its own, which can be stopped and started again."""

    process: "subprocess.Popen[bytes] | None" = None

    def __init__(self, tables: str, files: Path) -> None:
        """A server that is not started.

        Args:
            tables: address of a database.
            files: folder of the artifacts, which the server hands on.
        """
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        command = ["server", "--host", "127.0.0.1", "--workers", "1", "--port", str(port)]
        command += ["--backend-store-uri", tables, "--artifacts-destination", str(files)]
        self.command = [sys.executable, "-m", "mlflow", *command]

    def start(self) -> None:
        """Starts it, and waits until it answers.

        Raises:
            TimeoutError: it does not.
        """
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            self.command,
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},  # 8 processes more
        )
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urlopen(f"{self.address}/health"):
                    return
            except OSError:
                time.sleep(POLL_SECONDS)
        self.stop()
        raise TimeoutError("MLflow's server does not answer")

    def stop(self) -> None:
        """Ends it with its workers."""
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait()
