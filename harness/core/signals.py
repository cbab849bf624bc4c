"""Ending a process from outside: Ctrl-C, and the SIGTERM of schedulers."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED, TERMINATED = 130, 143
"""Exit codes after Ctrl-C and SIGTERM."""


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Lets SIGTERM end the block as Ctrl-C does; without effect in other threads than the main one,
    which may not handle signals.

    Raises:
        KeyboardInterrupt: with the number of the signal.
    """

    def stop(number: int, _: FrameType | None) -> None:
        raise KeyboardInterrupt(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_code(stop: KeyboardInterrupt) -> int:
    """The exit code after Ctrl-C or `terminated_as_interrupted`."""
    return TERMINATED if stop.args else INTERRUPTED
