"""The arrows between the rooms: who may import whom."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "harness").rglob("*.py"))

ONE_FILE = {"mlflow": "harness/tracking/server.py", "optuna": "harness/tuning.py"}
"""Library to the only file that imports it."""

TORCH_FREE = (
    "harness",
    "harness.cli.app",
    "harness.experiment",
    "harness.experiment.declaration",
    "harness.experiment.json_schema",
    "harness.pretraining.budget",
    "harness.plan",
    "harness.analysis.statistics",
    "harness.leaderboard",
    "harness.cli.families",
    "harness.data.corpora",
    "harness.data.tokenizers",
    "harness.pretraining.objectives",
    "harness.models",
    "harness.pretraining.recipes",
    "harness.finetuning",
    "harness.tasks",
    "harness.data.microworld",
    "harness.tasks.probes",
)
HEAVY = ("torch", "transformers", "datasets", "tokenizers", "mlflow", "optuna", "pytorch_lightning")

FLOW = (
    "values",
    "experiment",
    "declaration",
    "plan",
    "execute",
    "study",
    "cli",
)
"""Machinery from the bottom up: none imports what stands after it."""

TELLING = ("statistics", "leaderboard", "comparison", "report", "site")
"""From arrays to pages: none imports what stands after it, nor a study."""


def imports(path: Path) -> Iterator[str]:
    """Modules that a file imports anywhere, but for those only named in types."""
    for node in _running(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from _running(child)


@pytest.mark.parametrize("library", ONE_FILE)
def test_a_library_behind_one_file(library: str) -> None:
    users = [
        str(path.relative_to(ROOT))
        for path in FILES
        if any(name.split(".")[0] == library for name in imports(path))
    ]
    assert users == [ONE_FILE[library]]


def test_nothing_imports_the_experiments() -> None:
    for path in FILES:
        assert not any(name.split(".")[0] in ("experiments", "tests") for name in imports(path)), (
            path
        )


@pytest.mark.parametrize("name", FLOW)
def test_the_flow_goes_one_way(name: str) -> None:
    above = {f"harness.{later}" for later in FLOW[FLOW.index(name) + 1 :]}
    for path in files_of(name):
        assert not above.intersection(imports(path)), path


@pytest.mark.parametrize("name", TELLING)
def test_from_numbers_to_pages_it_goes_one_way(name: str) -> None:
    above = (*TELLING[TELLING.index(name) + 1 :], "study", "cli", "commands")
    for path in files_of(name):
        rooms = {module.split(".")[1] for module in imports(path) if module.startswith("harness.")}
        assert not rooms.intersection(above), path


def files_of(room: str) -> list[Path]:
    """Of a folder of the harness, or the one file of that name; never none."""
    folder = ROOT / "harness" / room
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    assert files
    return files


def test_axes_do_not_import_the_machinery() -> None:
    above = {f"harness.{name}" for name in FLOW[1:]}
    for path in FILES:
        axis = path.relative_to(ROOT / "harness").parts[0]
        if axis in (
            "corpora",
            "tokenizers",
            "objectives",
            "models",
            "recipes",
            "tasks",
            "microworld",
        ):
            assert not above.intersection(imports(path)), path


def test_what_plans_and_lists_does_not_load_torch() -> None:
    """In an interpreter of its own, for this one has loaded everything."""
    code = (
        f"import importlib, sys\n"
        f"for name in {TORCH_FREE!r}: importlib.import_module(name)\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


@pytest.mark.parametrize(
    "arguments", [["--help"], ["list", "tasks"], ["plan", "experiments/nsp.yaml"]], ids=" ".join
)
def test_commands_that_answer_at_once_do_not_load_torch(arguments: list[str]) -> None:
    code = (
        f"import sys\n"
        f"from harness.cli.app import app\n"
        f"app({arguments!r}, standalone_mode=False)\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout and run.stderr.split() == []
