"""Fixtures and settings of all tests."""

import shutil
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

from harness.store import store

# A first example may import a library, and shared machines are slow at times.
settings.register_profile("harness", deadline=None)
settings.load_profile("harness")

pytest_plugins = ["tests.made_up_results"]


@pytest.fixture(scope="session", autouse=True)
def mlflow_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Creates MLflow's empty tables once and copies them to every store: it takes seconds."""
    template = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    make_tables = store._make_tables

    def copy_tables(path: Path) -> None:
        if not template.exists():
            make_tables(template)
        shutil.copyfile(template, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_make_tables", copy_tables)
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
