"""Ending a process from outside: Ctrl-C, the SIGTERM of schedulers, and the SIGHUP of a closed
terminal."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""Exit code after Ctrl-C; after another signal, 128 and its number."""
SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""Without SIGHUP on Windows."""


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP end the block as Ctrl-C does, unless they are ignored (nohup).
    Without effect in other threads than the main one, which may not handle signals.

    Raises:
        KeyboardInterrupt: with the number of the signal.
    """

    def stop(number: int, _: FrameType | None) -> None:
        raise KeyboardInterrupt(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [one for one in SIGNALS if signal.getsignal(one) != signal.SIG_IGN]
    before = {one: signal.signal(one, stop) for one in heard}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Lets Ctrl-C, SIGTERM and SIGHUP wait for the end of a short block. Without effect in other
    threads than the main one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    known = {one: signal.getsignal(one) for one in (signal.SIGINT, *SIGNALS)}
    # A new process inherits that a signal is ignored; null: the handler is not Python's.
    before = {one: it for one, it in known.items() if it not in (signal.SIG_IGN, None)}
    for one in before:
        signal.signal(one, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    for number in heard[:1]:
        signal.raise_signal(number)


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Lets Ctrl-C wait for the end of a short block; the processes that start in it never receive
    it. Without effect on Windows."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def exit_code(stop: KeyboardInterrupt) -> int:
    """The exit code after Ctrl-C or `terminated_as_interrupted`."""
    return 128 + int(stop.args[0]) if stop.args else INTERRUPTED
