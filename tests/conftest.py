"""Fixtures and settings of all tests."""

import functools
import gc
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
import sqlalchemy
import typer.testing
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from harness.store import finished_runs

# A first example may import a library, and shared machines are slow at times.
settings.register_profile("harness", deadline=None)
settings.load_profile("harness")

pytest_plugins = ["tests.made_up_results"]

# A suite in the background (`&`, nohup) ignores these signals, and so would its processes.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Tests and libraries live to the end: garbage is not collected while they are made, and no
    later collection walks through them. Later ones are rarer than by default (700 objects), as most
    objects are those of libraries that tests import."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


LONGEST = (
    "tests/test_end_to_end",
    "tests/test_readme",
    "tests/execution/backends",
    "tests/test_documented_plugins",
)
"""Begin of the paths of files that take a worker minutes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files go first: at the end, the other workers would wait for them."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


ONE_WORKER = ("tests/execution/backends",)
"""Folders whose files share what takes long to start, such as a local Ray."""


class FileScheduling(LoadFileScheduling):
    """Gives the files of each folder of ONE_WORKER to one worker, too."""

    def _split_scope(self, nodeid: str) -> str:
        shared = (folder for folder in ONE_WORKER if nodeid.startswith(folder))
        return next(shared, super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> FileScheduling | None:
    """The scheduler of `--dist loadfile`."""
    return FileScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def mlflow_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Creates MLflow's empty tables once and copies them to every store: it takes seconds."""
    template = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    make_tables = finished_runs._make_tables

    def copy_tables(path: Path) -> None:
        if not template.exists():
            make_tables(template)
        shutil.copyfile(template, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finished_runs, "_make_tables", copy_tables)
        yield


@pytest.fixture(scope="session", autouse=True)
def databases_not_synced() -> Iterator[None]:
    """SQLite waits for the disk with each commit, lest a crash of the machine damages the file."""

    def connected(connection: sqlite3.Connection, _: object) -> None:
        with suppress(sqlite3.DatabaseError):  # of a damaged file, which some tests need
            connection.execute("PRAGMA synchronous=OFF")

    sqlalchemy.event.listen(sqlalchemy.Engine, "connect", connected)
    yield
    sqlalchemy.event.remove(sqlalchemy.Engine, "connect", connected)


@pytest.fixture(scope="session", autouse=True)
def commands_built_once() -> Iterator[None]:
    """Typer's runner builds all commands for each call, which takes longer than many calls."""
    with pytest.MonkeyPatch.context() as patch:
        built = functools.cache(typer.testing._get_command)
        patch.setattr(typer.testing, "_get_command", built)
        yield


@pytest.fixture
def forget_plugins() -> Iterator[Callable[[], None]]:
    """Takes the members of plug-ins out of the registries again, as in a new process."""
    from harness.core.config import ConfigModel
    from harness.experiment import plugins

    registries = {
        name: getattr(import_module(home), name) for name, home in plugins.REGISTRIES.items()
    }
    before = {name: registry.copy() for name, registry in registries.items()}
    import_path = sys.path.copy()

    def forget() -> None:
        for name, registry in registries.items():
            registry.clear()
            add = registry.extend if isinstance(registry, list) else registry.update
            add(before[name])
        for name in plugins._loaded:
            sys.modules.pop(name, None)
        plugins._loaded.clear()
        plugins._rebuild(ConfigModel)

    yield forget
    forget()
    sys.path[:] = import_path
