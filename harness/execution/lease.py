"""Leases: at most one process computes or records a stage, on all machines that share the store."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import SoftFileLease, Timeout

LEASE_SECONDS = 60.0
"""Without a heartbeat for so long, another process may take over; all processes must agree on it.

On the same machine a dead holder is noticed at once."""
POLL_SECONDS = 0.5
"""How long a stage waits for a lease before it looks whether the holder responds."""


class LeaseHeldError(RuntimeError):
    """Another process computes the stage."""


class LeaseLostError(LeaseHeldError):
    """Another process took over the stage, since this one had not responded for `LEASE_SECONDS`."""


def lease(path: Path) -> SoftFileLease:
    """A lease of what the file `path` stands for, to be held in a `with` statement, which waits.

    A thread renews it every third of `LEASE_SECONDS`. If another process takes it over, as after
    a machine was suspended, `compromise` of the lease is not null, and the holder must stop.
    """
    return SoftFileLease(path, lease_duration=LEASE_SECONDS, thread_local=False)


@contextmanager
def held(claim: SoftFileLease) -> Iterator[SoftFileLease]:
    """A context that holds a lease; it waits for a holder that no longer responds only.

    Raises:
        LeaseHeldError: another process holds it.
    """
    path = Path(claim.lock_file)
    try:
        try:
            claim.acquire(timeout=POLL_SECONDS)
        except Timeout:
            if _age(path) < LEASE_SECONDS:
                raise
            claim.acquire(timeout=2 * LEASE_SECONDS)  # to see that there is no heartbeat
    except Timeout:
        raise LeaseHeldError(f"{path.stem} is computed by another process") from None
    try:
        yield claim
    finally:
        claim.release()


def is_leased(path: Path) -> bool:
    """Whether a process that responds holds the lease of `path`."""
    if not path.exists():
        return False
    try:
        with lease(path).acquire(timeout=0):
            return False
    except Timeout:
        return _age(path) < LEASE_SECONDS


def _age(path: Path) -> float:
    """Seconds since the last heartbeat, by the clock of this machine."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return LEASE_SECONDS
