"""The version of MLflow's tables, which other versions of MLflow read but do not write."""

import re
from importlib.util import find_spec
from pathlib import Path

from harness.core.sqlite_files import read_only, sqlite_uri


def schema_problem(database: Path) -> tuple[str, str] | None:
    """Why the installed MLflow does not write to tables, and what to do; null if it does.

    Args:
        database: an absolute path.

    Raises:
        sqlite3.DatabaseError: the file is damaged, or no file of MLflow.
    """
    with read_only(database) as connection:
        found = connection.execute("select version_num from alembic_version").fetchone()
    schema = str(found[0]) if found else ""
    revisions = _revisions()
    newest = revisions.keys() - set(revisions.values())
    if not schema or len(newest) != 1 or schema in newest:  # it is not known, or right
        return None
    what = f"tables {schema} of another version of MLflow, whose are {newest.pop()}"
    if schema not in revisions:
        return what, "install the version of MLflow that wrote them, or a newer one"
    return what, f"copy {database}, then: mlflow db upgrade {sqlite_uri(database)}"


def _revisions() -> dict[str, str]:
    """The versions of tables that the installed MLflow knows, each with the one before it; read
    from its migrations without importing it."""
    spec = find_spec("mlflow")
    folders = [Path(one) for one in (spec and spec.submodule_search_locations) or ()]
    found = {}
    for folder in folders:
        for file in folder.glob("store/db_migrations/versions/*.py"):
            text = file.read_text()
            found[_named("revision", text)] = _named("down_revision", text)
    return found


def _named(name: str, text: str) -> str:
    found = re.search(rf"^{name} = [\"'](\w+)", text, re.MULTILINE)
    return found[1] if found else ""
