"""Leases: at most one process computes or records a stage, on all machines that share the store."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from filelock import AcquireReturnProxy, FileLock, SoftFileLease, Timeout

LEASE_SECONDS = 60.0
"""Without a heartbeat for so long, another process may take over; all processes must agree on it.

On the same machine a dead holder is noticed at once."""
STEP_SECONDS = 5.0
"""How often a process that waits looks for an empty file."""
RECORDING = "record.lease"
"""Name in the folder of a store of the lease that a process holds while it looks for a result and
records one."""
POLL_SECONDS = 0.5
"""How long a stage waits for a lease before it looks whether the holder responds."""


class LeaseHeldError(RuntimeError):
    """Another process computes the stage."""


class LeaseLostError(LeaseHeldError):
    """Another process took over the stage, since this one had not responded for `LEASE_SECONDS`."""


class Lease(SoftFileLease):
    """A lease that an empty file does not hold for ever: filelock takes it for a holder without a
    record, but it is left by a process that was killed before it wrote its own."""

    def acquire(
        self, timeout: float | None = None, poll_interval: float | None = None, **options: Any
    ) -> AcquireReturnProxy[Self]:
        """As of `SoftFileLease`, in steps, before each of which an old empty file is removed."""
        limit = self.timeout if timeout is None else timeout
        end = float("inf") if limit < 0 else time.monotonic() + limit
        while True:
            _remove_empty(Path(self.lock_file))
            left = max(0.0, end - time.monotonic())
            try:
                return super().acquire(min(left, STEP_SECONDS), poll_interval, **options)
            except Timeout:
                if left <= STEP_SECONDS or options.get("blocking") is False:
                    raise


def _remove_empty(path: Path) -> None:
    """Removes an empty file of a lease without a change for `LEASE_SECONDS`, one process at a
    time."""
    with suppress(FileNotFoundError):
        if path.stat().st_size or _age(path) < LEASE_SECONDS:
            return
        with FileLock(path.with_suffix(".empty")):
            if not path.stat().st_size and _age(path) >= LEASE_SECONDS:
                path.unlink()


def lease(path: Path) -> Lease:
    """A lease of what the file `path` stands for, to be held in a `with` statement, which waits.

    A thread renews it every third of `LEASE_SECONDS`. If another process takes it over, as after
    a machine was suspended, `compromise` of the lease is not null, and the holder must stop.
    """
    return Lease(path, lease_duration=LEASE_SECONDS, thread_local=False)


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
