"""Provenance of results: packages, machine, command and data."""

import os
import platform
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from harness.core.cpus import processor
from harness.core.secrets import mask

if TYPE_CHECKING:
    from harness.plan.plan import Stage

PACKAGES = (
    "pretraining-harness torch pytorch-lightning torchmetrics transformers tokenizers datasets "
    "optuna mlflow scikit-learn numpy scipy"
).split()


def provenance() -> dict[str, str]:
    """Package versions, machine and command line of this process, without secrets and names of
    hosts, users and folders."""
    return {
        "packages": _packages(),
        "python": platform.python_version(),
        "machine": machine(),
        "command": _command([_program(sys.argv[0]), *sys.argv[1:]]),
    }


@cache
def _packages() -> str:
    return ", ".join(f"{name} {version(name)}" for name in PACKAGES)


def machine() -> str:
    """System, architecture, number of CPU cores and processor of this machine.

    Processors of different kinds round differently, so that equal seeds give other results.
    """
    system = f"{platform.system()} {platform.machine()}"
    return f"{system}, {os.cpu_count()} CPU cores, {processor()}"


def _program(path: str) -> str:
    """`harness`, also where it was started as `python -m harness`."""
    return "harness" if path.endswith("harness/__main__.py") else path


def _command(words: Iterable[str]) -> str:
    """A command line without folders and secrets."""
    return mask(shlex.join(map(_last_part, words)))


def _last_part(argument: str) -> str:
    """`--store=/home/me/runs` without its folders."""
    option, sign, value = argument.rpartition("=")
    return option + sign + (Path(value).name if Path(value).is_absolute() else value)


def made_with() -> str:
    """Machine, GPU if this process has used one, package versions, and the commit of the harness
    where it runs from a checkout, in one line."""
    made = provenance()
    torch = sys.modules.get("torch")
    gpu = [torch.cuda.get_device_name()] if torch and torch.cuda.is_initialized() else []
    found = commit(Path(__file__).parents[2])
    code = [f"commit {found}"] if found else []
    return ", ".join([made["machine"], *gpu, f"python {made['python']}", made["packages"], *code])


@cache
def commit(checkout: Path) -> str:
    """The commit of a git checkout, with `-dirty` if files differ from it; empty if it is none."""
    if not (checkout / ".git").exists():
        return ""
    git = ["git", "--no-optional-locks", "-C", str(checkout)]  # which `describe --dirty` ignores
    try:
        head, changed = (
            subprocess.run([*git, *command.split()], capture_output=True, text=True, timeout=10)
            for command in (
                "describe --always --abbrev=12 --exclude=*",
                "status --porcelain --untracked-files=no",
            )
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = head.stdout.strip()
    return f"{found}-dirty" if found and changed.stdout else found


def makers(made: Iterable[str]) -> dict[str, str]:
    """Each line of `made_with` to the number of its stages, most frequent first."""
    counts = Counter(made).most_common()
    return {line or "not recorded": f"stages: {count}" for line, count in counts}


def run_again(path: Path, overrides: Sequence[str], variants: Sequence[str] = ()) -> str:
    """The command that reruns or resumes an experiment; the command of this process if `path` is no
    file. Absolute paths are cut to the file name."""
    if not path.is_file():
        return provenance()["command"]
    file = path.name if path.is_absolute() else str(path)
    options = [f"--variant={variant}" for variant in variants]
    options += [f"--set={override}" for override in overrides]
    return _command(["harness", "run", file, *options])


def fingerprints(stages: "Iterable[Stage]") -> dict[str, str]:
    """Label of each corpus and task that the stages read, to the fingerprint of its content."""
    found = {}
    for stage in stages:
        if stage.kind == "tokenize":
            found[stage.label] = str(stage.spec["fingerprint"])
        elif stage.kind == "finetune":
            found[f"task {stage.spec['task']}"] = str(stage.spec["fingerprint"])
    return found
