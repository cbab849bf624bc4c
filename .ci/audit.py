"""Looks up the pinned packages in the advisory database of PyPI, by pip-audit.

Exits with 1 if one has a known vulnerability. Where the database cannot be reached, as without a
network or behind a mirror of packages alone, it says so and exits with 0.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PINS = Path(__file__).parents[1] / "constraints.txt"
OPTIONS = "--no-deps --disable-pip --progress-spinner off --format json".split()


def report(answer: str, errors: str) -> tuple[list[str], int]:
    """Lines for people and the exit code.

    Args:
        answer, errors: standard output and error of pip-audit.
    """
    try:
        packages: list[dict[str, Any]] = json.loads(answer)["dependencies"]
    except json.JSONDecodeError:
        reason = (errors.strip().splitlines() or ["no answer"])[-1]
        return [f"NOT AUDITED: the advisory database cannot be reached: {reason}"], 0
    audited = [one for one in packages if "skip_reason" not in one]
    if not audited:
        reason = packages[0]["skip_reason"] if packages else "no packages"
        return [f"NOT AUDITED: the advisory database knows no package: {reason}"], 0
    found = [
        f"{one['name']} {one['version']}: {each['id']}, fixed in {_fixes(each)}"
        for one in audited
        for each in one["vulns"]
    ]
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    rest = f"; not known to the database: {', '.join(skipped)}" if skipped else ""
    total = f"{len(audited)} packages audited, {len(found)} known vulnerabilities{rest}"
    return [*found, total], int(bool(found))


def _fixes(vulnerability: dict[str, Any]) -> str:
    return ", ".join(vulnerability["fix_versions"]) or "no release yet"


def main() -> None:
    """Prints the report."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(PINS), *OPTIONS]
    done = subprocess.run(command, capture_output=True, text=True)
    lines, code = report(done.stdout, done.stderr)
    print(*lines, sep="\n")
    sys.exit(code)


if __name__ == "__main__":
    main()
