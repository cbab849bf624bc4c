"""SQLite files: what an error says of the file, and whether it is damaged."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

WAIT_SECONDS = 60
"""How long one process waits while another writes."""
DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, None}
"""Codes of errors that say that a file is damaged; null: bytes that should be text are none."""


def sqlite_uri(path: Path) -> str:
    """The address of a SQLite file for SQLAlchemy, which MLflow and Optuna use.

    Raises:
        ValueError: the path has a sign of addresses. An address that hides it would name the file,
            but MLflow makes the folder that the address names as it is written.
    """
    if found := re.search(r"\?|%[0-9a-fA-F]{2}", str(path)):
        raise ValueError(f"the path of a store must have no {found[0]}, but is {path.parent}")
    return f"sqlite:///{path}"


@contextmanager
def connected(address: Path | str, uri: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection of which bytes that are no text are an `sqlite3.Error`, too.

    Args:
        uri: whether the address is one, with parameters.
    """
    with closing(sqlite3.connect(address, uri=uri, timeout=WAIT_SECONDS)) as connection:
        try:
            yield connection
        except UnicodeDecodeError as error:  # of SQLite's own message, which quotes the file
            raise sqlite3.DatabaseError(f"no text: {error.reason}") from error


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that does not change the file, which replaces bytes that are no text. A write
    that a kill has interrupted is undone first.

    Raises:
        OSError: undoing it needs write access.
    """
    address = f"{path.absolute().as_uri()}?mode=ro"
    with connected(address, uri=True) as connection:
        connection.text_factory = lambda text: text.decode(errors="replace")
        if _is_interrupted(connection):
            with connected(path) as writable:
                if _is_interrupted(writable):
                    raise OSError(f"{path}: undoing an interrupted write needs write access")
        yield connection


def _is_interrupted(connection: sqlite3.Connection) -> bool:
    """Whether a write was interrupted and this connection cannot undo it, as SQLite does with the
    next read (sqlite.org/lockingv3.html, section 4.2, hot journals)."""
    try:
        connection.execute("pragma schema_version").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
            return True
        raise
    return False


def error_code(error: sqlite3.Error) -> int | None:
    """The primary code of SQLite; null for errors of Python's module, as of bytes that are no
    text."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF  # without the extension


def damage(path: Path, thorough: bool = False) -> str:
    """What is damaged in a file, in words; empty if nothing is.

    Args:
        thorough: whether indexes are compared with their tables, too, which takes longer.

    Raises:
        OSError: the file cannot be opened, or is locked.
    """
    check = "integrity_check" if thorough else "quick_check"
    try:
        with read_only(path) as connection:
            (found,) = connection.execute(f"pragma {check}(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if error_code(error) not in DAMAGE:
            raise OSError(f"{path}: {error}") from None
        found = str(error)
    return "" if found == "ok" else " ".join(str(found).split())
