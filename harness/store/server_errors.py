"""Errors of MLflow and of databases as OSErrors, which callers need no MLflow to catch: in one line
and without secrets."""

import re

from harness.core.secrets import mask

PASSING = ("INTERNAL_ERROR", "TEMPORARILY_UNAVAILABLE", "REQUEST_LIMIT_EXCEEDED")
"""MLflow's codes of failures that may pass, if the server reports them."""
REQUEST = "API request to"
"""Begin of MLflow's message if a request fails."""
CAUSE = re.compile(
    r"\[Errno -?\d+\] (?P<a>[\w /-]+)|Error\(\d+, '(?P<b>[^']+)|(?P<c>timed out|too many \d+ error "
    r"responses)"
)
"""What has happened, in the long messages of HTTP requests."""
DRIVER_HINT = (
    "pip install 'pretraining-harness[server]' and begin the address with postgresql+psycopg2://"
)


class ServerAwayError(OSError):
    """A failure that may pass, such as of a server that cannot be reached. The message is the
    reason."""


class MissingError(OSError):
    """MLflow does not have what was looked for."""


def mlflow_error(message: str, code: str, by_server: bool) -> OSError:
    """The OSError of an error of MLflow.

    Args:
        code: MLflow's name of the kind of error.
        by_server: whether the server reports it.
    """
    text = mask(_line(message))
    if code == "RESOURCE_DOES_NOT_EXIST":
        return MissingError(f"MLflow: {text}")
    may_pass = code in PASSING and (by_server or text.startswith(REQUEST))
    if may_pass or code == "TEMPORARILY_UNAVAILABLE":
        cause = CAUSE.search(text)
        return ServerAwayError(cause[cause.lastgroup or 0] if cause else text)
    return OSError(f"MLflow: {text}")


def other_error(error: Exception) -> OSError:
    """The OSError of an error of a library below MLflow; of a file on this machine, as it is."""
    from sqlalchemy.exc import InterfaceError, OperationalError

    if isinstance(error, OperationalError | InterfaceError):  # the database does not answer
        return ServerAwayError(mask(str(error.orig).splitlines()[0]))
    if isinstance(error, ServerAwayError) or (isinstance(error, OSError) and error.errno):
        return error
    hint = f"; {DRIVER_HINT}" if isinstance(error, ImportError) else ""
    return OSError(f"MLflow: {mask(_line(str(error)))}{hint}")


def _line(message: str) -> str:
    """The line of a message that says what happened; SQL and parameters follow."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return next((line for line in lines if "sqlite3." in line), lines[0] if lines else "")
