"""Checks of what a run needs, for `harness doctor`: one function and one line in CHECKS each."""

from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic

from harness.core.secrets import mask
from harness.execution.health.finding import Finding
from harness.execution.health.machine import (
    check_cpus,
    check_device,
    check_limits,
    check_memory,
    check_optional,
    check_packages,
)
from harness.execution.health.services import check_data, check_hub, check_server
from harness.execution.health.storage import check_disk, check_snapshot, check_store

CHECKS: dict[str, Callable[[Path], Finding]] = {
    "packages": lambda store: check_packages(),
    "device": lambda store: check_device(),
    "CPUs": lambda store: check_cpus(),
    "memory": lambda store: check_memory(),
    "limits": lambda store: check_limits(),
    "disk": check_disk,
    "store": check_store,
    "snapshot": check_snapshot,
    "server": lambda store: check_server(),
    "data": lambda store: check_data(),
    "Hub": lambda store: check_hub(),
    "optional": lambda store: check_optional(),
}
"""Name to a check, which is called with the folder of the store."""
SECONDS = 10.0
"""Longest time of all checks, which run at the same time."""
REPORT = "report it as an error of the harness"


def examine(store: Path) -> dict[str, Finding]:
    """What each check finds, in the order of `CHECKS`. A check that fails, or hangs as on a file
    system that does not answer, is a finding itself."""
    done: SimpleQueue[tuple[str, Finding]] = SimpleQueue()
    for name in CHECKS:
        Thread(target=lambda one=name: done.put((one, _run(one, store))), daemon=True).start()
    found, end = dict[str, Finding](), monotonic() + SECONDS
    while len(found) < len(CHECKS):
        try:
            name, finding = done.get(timeout=max(0.0, end - monotonic()))
        except Empty:
            break
        found[name] = finding
    silent = Finding("problem", f"no answer within {SECONDS:.0f} s", "see whether the disk answers")
    return {name: found.get(name, silent) for name in CHECKS}


def _run(name: str, store: Path) -> Finding:
    try:
        finding = CHECKS[name](store)
    except Exception as error:  # whatever a broken installation or machine raises
        finding = Finding("problem", f"{type(error).__name__}: {error}", REPORT)
    return Finding(finding.state, mask(" ".join(finding.found.split())), mask(finding.advice))
