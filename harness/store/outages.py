"""Outages of a tracking server: calls wait for it, visibly and up to a limit."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

from harness.core.secrets import MASK, mask
from harness.store.server_errors import ServerAwayError

P = ParamSpec("P")
T = TypeVar("T")

LIMIT = "HARNESS_SERVER_SECONDS"
"""Environment variable: the longest outage that is waited for."""
DEFAULT_LIMIT = 300.0
FIRST_DELAY, LONGEST_DELAY = 0.5, 10.0
"""Seconds between two attempts, which double."""
SAY_SECONDS = 60.0
"""Time between two messages of one outage."""
SILENT_SECONDS = 20.0
"""How long a call may take without a message."""
PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
"""Default ports of databases."""
CONNECT_SECONDS = 10.0
log = logging.getLogger("harness")


def limit_seconds() -> float:
    """The longest outage that is waited for: `HARNESS_SERVER_SECONDS`, or the default.

    Raises:
        ValueError: it is not a number.
    """
    given = os.environ.get(LIMIT) or DEFAULT_LIMIT
    try:
        return float(given)
    except ValueError:
        raise ValueError(f"{LIMIT} must be a number of seconds, but is {given!r}") from None


def place_of(uri: str) -> str:
    """The address of a server without user, password and other secrets."""
    return mask(uri).replace(f"{MASK}@", "")


class Outages:
    """The outages of one server, for all threads of this process.

    Once an outage has lasted for the limit, further calls fail at their first attempt until one
    succeeds: a run does not wait again for each of its stages.
    """

    def __init__(self, place: str, limit: float | None) -> None:
        """A server that was not called yet.

        Args:
            place: its address without secrets.
            limit: longest outage in seconds; null for what cannot be away, a local file.
        """
        self.place, self.limit = place, limit
        self._begin: float | None = None
        """When the outage began, by the monotonic clock; null: there is none."""
        self._said: float | None = None
        """When it was last reported."""

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns, which is called again while the server is away.

        Raises:
            OSError: the outage has lasted for the limit, or the function raises another one.
        """
        delay = FIRST_DELAY
        while True:
            start = time.monotonic()
            notice = threading.Timer(SILENT_SECONDS, self._say, ("no answer yet",))
            notice.daemon = True
            try:
                if self.limit:
                    notice.start()
                result = function(*args, **kwargs)
            except ServerAwayError as error:
                self._begin = start if self._begin is None else self._begin
                left = self._begin + (self.limit or 0.0) - time.monotonic()
                if left <= 0:
                    raise OSError(self._failure(str(error))) from None
                self._say(str(error))
                time.sleep(min(left, delay))
                delay = min(2 * delay, LONGEST_DELAY)
            else:
                self._end()
                return result
            finally:
                notice.cancel()

    def _failure(self, reason: str) -> str:
        if not self.limit:
            return f"MLflow at {self.place}: {reason}"
        return (
            f"MLflow at {self.place}: {reason}; waited for {self.limit:.0f} s, the limit that "
            f"{LIMIT} sets"
        )

    def _say(self, reason: str) -> None:
        now = time.monotonic()
        if self._said is None or now - self._said >= SAY_SECONDS:
            self._said = now
            begin = now if self._begin is None else self._begin
            left = begin + (self.limit or 0.0) - now
            line = "waiting up to %.0f s (%s) for MLflow at %s: %s"
            log.warning(line, left, LIMIT, self.place, reason)

    def _end(self) -> None:
        if self._said is not None:
            log.warning("MLflow at %s answers again", self.place)
        self._begin = self._said = None


_known: dict[str, Outages] = {}


def outages_of(uri: str) -> Outages:
    """The outages of a tracking URI, the same for all callers; a local file has none."""
    if uri not in _known:
        is_local = urlsplit(uri).scheme in ("", "file", "sqlite")
        _known[uri] = Outages(place_of(uri), None if is_local else limit_seconds())
    return _known[uri]


@contextmanager
def without_waiting() -> Iterator[None]:
    """A context in which calls to known servers fail at their first attempt, as after Ctrl-C."""
    limits = [(one, one.limit) for one in _known.values()]
    for one, limit in limits:
        one.limit = limit and 0.0
    try:
        yield
    finally:
        for one, limit in limits:
            one.limit = limit


def check_connection(uri: str, seconds: float = CONNECT_SECONDS) -> None:
    """Connects once to the port of a database, for which drivers and MLflow wait silently.

    Raises:
        ServerAwayError: nothing listens there.
    """
    parts = urlsplit(uri)
    usual = PORTS.get(parts.scheme.partition("+")[0])
    try:
        host, port = parts.hostname, parts.port or usual
    except ValueError:  # several hosts
        return
    if host and usual:
        try:
            socket.create_connection((host, port), seconds).close()
        except OSError as error:
            raise ServerAwayError(error.strerror or str(error)) from None
