"""Interrupts that wait for the end of a short block."""

import signal
import threading

import pytest

from harness.core.signals import interrupts_deferred, terminated_as_interrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_waits_for_the_end_of_the_block(number: int) -> None:
    done = []

    def block() -> None:
        with interrupts_deferred():
            signal.raise_signal(number)
            signal.raise_signal(number)
            done.append("the rest of it")

    with terminated_as_interrupted():
        before = signal.getsignal(number)
        with pytest.raises(KeyboardInterrupt):
            block()
        assert done and signal.getsignal(number) == before


def test_an_error_of_the_block_is_not_lost() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyError), interrupts_deferred():
        raise KeyError
    assert signal.getsignal(signal.SIGINT) == before


def test_ignored_signals_stay_ignored() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupts_deferred():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_have_no_handlers() -> None:
    found = []

    def run() -> None:
        with interrupts_deferred():
            found.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found
