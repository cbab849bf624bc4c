"""Fixtures and settings of all tests."""

import shutil
from collections.abc import Iterator
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
