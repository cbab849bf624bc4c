"""Where a result comes from: packages, machine, command."""

import os
import platform
import shlex
import sys
from importlib.metadata import version
from pathlib import Path

PACKAGES = (
    "pretraining-harness",
    "torch",
    "pytorch-lightning",
    "transformers",
    "tokenizers",
    "datasets",
    "optuna",
    "mlflow",
    "scikit-learn",
    "numpy",
    "scipy",
)


def provenance() -> dict[str, str]:
    """Versions, machine and command line of this process; no host or user name."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return {
        "packages": packages,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores",
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
    }
