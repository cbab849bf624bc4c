"""Where a result comes from: packages, machine, command."""

import os
import platform
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from harness.plan.plan import Stage

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
    """Versions, machine and command line of this process; no host or user name, and of absolute
    paths the last part alone."""
    return {
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPU cores",
        "command": shlex.join(_last_part(argument) for argument in sys.argv),
    }


def _last_part(argument: str) -> str:
    """`--store=/home/me/runs` without its folders."""
    option, sign, value = argument.rpartition("=")
    return option + sign + (Path(value).name if Path(value).is_absolute() else value)


def made_with() -> str:
    """Machine, GPU where this process has used one, and versions, in one line."""
    told = provenance()
    torch = sys.modules.get("torch")
    used = torch is not None and torch.cuda.is_initialized()
    gpu = [torch.cuda.get_device_name()] if torch is not None and used else []
    return ", ".join([told["machine"], *gpu, f"python {told['python']}", told["packages"]])


def makers(made: Iterable[str]) -> dict[str, str]:
    """What stages were made with, to how many of them; the most first."""
    counts = Counter(made).most_common()
    return {line or "not recorded": f"stages: {count}" for line, count in counts}


def run_again(path: Path, overrides: Sequence[str]) -> str:
    """The command that computes an experiment anew, or what is missing of it; that of this process
    where no file declares it. Without the folders of an absolute path."""
    if not path.is_file():
        return provenance()["command"]
    file = path.name if path.is_absolute() else str(path)
    return shlex.join(["harness", "run", file, *(f"--set={override}" for override in overrides)])


def fingerprints(stages: Iterable[Stage]) -> dict[str, str]:
    """What was read, corpora and tasks, to what names its content."""
    found = {}
    for stage in stages:
        if stage.kind == "tokens":
            found[stage.label] = str(stage.spec["fingerprint"])
        elif stage.kind == "finetune":
            found[f"task {stage.spec['task']}"] = str(stage.spec["fingerprint"])
    return found
