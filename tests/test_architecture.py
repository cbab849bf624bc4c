"""The rooms of the harness and who may import whom; docs/architecture.md explains them."""

import ast
import re
import statistics
import subprocess
import sys

import pytest

from tests.architecture import (
    import_circle,
    imported_names,
    num_floors,
    read_modules,
    upward_imports,
)
from tests.paths import ROOT

ROOMS = (
    "core",
    "data",
    "models",
    "tasks",
    "pretraining",
    "finetuning",
    "experiment",
    "plan",
    "store",
    "execution",
    "analysis",
    "leaderboard",
    "report",
    "exchange",
    "study",
    "",  # `import harness`
    "cli",
    "__main__",
)
"""From the bottom up: a room imports only rooms that stand before it."""

MODULES = read_modules(ROOT, "harness")
FILES = sorted((ROOT / "harness").rglob("*.py"))

ONE_MODULE = {
    "faiss": "harness.finetuning.faiss_search",
    "mlflow": "harness.store.mlflow_runs",
    "optuna": "harness.finetuning.search.optuna_search",
    "ray": "harness.execution.backends.ray_tasks",
    "ruamel": "harness.experiment.yaml_reader",
    "submitit": "harness.execution.backends.slurm",
}
"""Library to the only module that imports it."""

TORCH_FREE = (
    "harness.cli.app",
    "harness.experiment.declaration",
    "harness.experiment.json_schema",
    "harness.experiment.registries",
    "harness.plan.factory",
    "harness.analysis.statistics.bootstrap",
    "harness.leaderboard.table",
    "harness.models",
    "harness.pretraining.recipes",
    "harness.pretraining.objectives",
    "harness.data.corpora",
    "harness.data.tokenizers",
    "harness.tasks.probes",
)
HEAVY = ("torch", "transformers", "datasets", "tokenizers", "mlflow", "optuna", "pytorch_lightning")

PLANTED = {
    "plainly": "from harness.plan.plan import Plan",
    "by the room": "from harness import plan",
    "by another name": "import harness.plan.plan as p",
    "lazily": "def f():\n    from harness.plan.plan import Plan",
    "for types": (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from harness.plan.plan import Plan"
    ),
}
"""Ways to import a room above `data`."""


def test_the_rooms_are_those_of_the_documentation() -> None:
    rooms = [room for room in ROOMS if room and not room.startswith("_")]
    assert {name.split(".")[1] for name in MODULES if "." in name} == {*rooms, "__main__"}
    assert len(rooms) <= 16
    text = (ROOT / "docs" / "architecture.md").read_text()
    documented = re.findall(r"^    (\w+)(?:/|\.py) {2,}", text, re.MULTILINE)
    assert documented == rooms[::-1]


def test_imports_point_downward() -> None:
    assert upward_imports(MODULES, ROOMS) == []
    assert num_floors({n: s for n, s in MODULES.items() if _in_a_room(n)}) <= 12


def test_modules_do_not_import_each_other_in_circles() -> None:
    assert import_circle(MODULES) == []


@pytest.mark.parametrize("source", PLANTED.values(), ids=PLANTED)
def test_a_planted_upward_import_is_found(source: str) -> None:
    planted = {**MODULES, "harness.data.planted": source}
    (found,) = upward_imports(planted, ROOMS)
    assert found.startswith("harness.data.planted imports harness.plan")


@pytest.mark.parametrize("source", PLANTED.values(), ids=PLANTED)
def test_a_planted_circle_is_found(source: str) -> None:
    back = MODULES["harness.plan.plan"] + "\nimport harness.plan.planted"
    planted = {
        **MODULES,
        "harness.plan.planted": source,
        "harness.plan.plan": back,
        "harness.plan": MODULES["harness.plan"] + "\nimport harness.plan.planted",
    }
    assert "harness.plan.planted" in import_circle(planted)


@pytest.mark.parametrize("library", ONE_MODULE)
def test_a_library_behind_one_module(library: str) -> None:
    users = [
        name
        for name, source in MODULES.items()
        if any(other.split(".")[0] == library for other in imported_names(source))
    ]
    assert users == [ONE_MODULE[library]]


def test_nothing_imports_tests_or_experiments() -> None:
    names = {other.split(".")[0] for text in MODULES.values() for other in imported_names(text)}
    assert not names & {"tests", "experiments", "benchmarks"}


def test_files_are_short() -> None:
    lengths = [len(file.read_text().splitlines()) for file in FILES]
    assert statistics.median(lengths) <= 120
    assert max(lengths) <= 300


def test_every_package_says_what_it_holds() -> None:
    silent = [f for f in FILES if f.name == "__init__.py" and not _docstring(f.read_text())]
    assert silent == []


def test_every_room_has_its_tests() -> None:
    rooms = {path.name for path in (ROOT / "harness").iterdir() if (path / "__init__.py").exists()}
    tested = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert rooms <= tested
    assert tested - rooms <= {"benchmarks", "__pycache__"}


def _in_a_room(name: str) -> bool:
    return "." in name and name != "harness.__main__"


def _docstring(source: str) -> str | None:
    return ast.get_docstring(ast.parse(source))


def _loaded(code: str, libraries: tuple[str, ...] = HEAVY) -> list[str]:
    """The libraries that `code` loads, in a new interpreter."""
    found = f"[n for n in {libraries!r} if n in sys.modules]"
    code = f"import sys\n{code}\nprint(*{found}, file=sys.stderr)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return run.stderr.split()


def test_planning_and_listing_do_not_load_torch() -> None:
    assert _loaded(f"import importlib\nfor n in {TORCH_FREE!r}: importlib.import_module(n)") == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["list", "tasks"],
        ["plan", "experiments/quickstart.yaml", "--store", "no-results"],
    ],
    ids=" ".join,
)
def test_quick_commands_do_not_load_torch_or_pandas(arguments: list[str]) -> None:
    code = f"from harness.cli.app import app\napp({arguments!r}, standalone_mode=False)"
    assert _loaded(code, (*HEAVY, "pandas")) == []
