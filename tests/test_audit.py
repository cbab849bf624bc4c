"""The audit of pinned packages: what it says of pip-audit's answers."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import pytest

from tests.paths import ROOT

SAFE = {"name": "numpy", "version": "2.4.6", "vulns": []}
UNSAFE = {
    "name": "old",
    "version": "1.0",
    "vulns": [
        {"id": "PYSEC-1", "fix_versions": ["1.1", "2.0"]},
        {"id": "PYSEC-2", "fix_versions": []},
    ],
}
UNKNOWN = {"name": "own", "skip_reason": "own (1.0) is not on PyPI"}


@pytest.fixture(scope="module")
def audit() -> Any:
    """The script `.ci/audit.py`."""
    spec = spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("packages", "code", "lines"),
    [
        ([SAFE], 0, ["1 packages audited, 0 known vulnerabilities"]),
        (
            [SAFE, UNSAFE, UNKNOWN],
            1,
            [
                "old 1.0: PYSEC-1, fixed in 1.1, 2.0",
                "old 1.0: PYSEC-2, fixed in no release yet",
                "2 packages audited, 2 known vulnerabilities; not known to the database: own",
            ],
        ),
        (
            [UNKNOWN],
            0,
            [f"NOT AUDITED: the advisory database knows no package: {UNKNOWN['skip_reason']}"],
        ),
    ],
)
def test_reports(audit: Any, packages: list[Any], code: int, lines: list[str]) -> None:
    assert audit.report(json.dumps({"dependencies": packages}), "") == (lines, code)


def test_without_a_network(audit: Any) -> None:
    found = audit.report("", "Traceback\nConnectionError: no route to host\n")
    line = "NOT AUDITED: the advisory database cannot be reached: ConnectionError: no route to host"
    assert found == ([line], 0)
