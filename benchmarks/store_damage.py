"""Flips random bits of a finished store, one at a time, and looks at what is shown then.

    python benchmarks/store_damage.py [--experiment experiments/smoke.yaml] [--flips 400] [--seed 0]

After each flip, in a random file of a random group, the scores, the leaderboard of the experiment
and the board of its suite are read again; then the store is restored. Passes (exit 0) if each
number was right, or absent with a reason, and nothing ended in a traceback.
"""

import argparse
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from harness.analysis.frames.scores import scores_frame
from harness.analysis.results import Results
from harness.leaderboard.boards import board_table, ranked_table
from harness.leaderboard.build import build
from harness.leaderboard.table import Row, Table
from harness.plan.plan import Plan
from harness.store.store import Store
from harness.study import Study

RIGHT, ABSENT, WRONG, TRACEBACK = "right", "absent, with a reason", "wrong", "traceback"
OUTCOMES = (RIGHT, ABSENT, WRONG, TRACEBACK)
"""From the best to the worst."""
ALONE = "MLflow's tables, without a snapshot"
GROUPS: dict[str, str] = {
    "MLflow's tables": "mlflow.db",
    ALONE: "mlflow.db",
    "the snapshot": "snapshot*.db",
    "files of stages and experiments": "artifacts/**/*",
    "encoded examples": "encoded/*.npz",
    "what remains of finished work": "work/**/*",
    "other files": "*[!b]",
}
"""Name to the files of a group, relative to the store."""


@dataclass(frozen=True)
class Shown:
    """What a store shows of an experiment."""

    scores: pd.DataFrame
    leaderboard: Table
    board: Table
    reasons: Collection[str] = ()
    """Of what the board leaves out."""


def read(plan: Plan, folder: Path) -> Shown:
    """What a store shows now.

    Raises:
        ValueError: numbers are absent, with the reason.
        OSError: the same.
    """
    results = Results(plan, Store(folder))
    board = board_table(results.suite.name, results.store)
    leaderboard = ranked_table(results.require(scores=True))
    left_out = [one.damaged for one in results.store.runs.left_out.values()]
    return Shown(results.get(scores_frame), leaderboard, board, left_out)


def outcome(plan: Plan, folder: Path, expected: Shown) -> str:
    """The worst of OUTCOMES that a store shows.

    Args:
        expected: what it showed before it was damaged.
    """
    try:
        shown = read(plan, folder)
    except (ValueError, OSError) as error:
        return ABSENT if str(error) and "\n" not in str(error) else TRACEBACK
    except Exception as error:  # whatever else it is, users see a traceback
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return TRACEBACK
    kept = expected.scores[expected.scores["key"].isin(shown.scores["key"])]
    right = build(kept, plan.experiment.evaluate.suite_value, tasks=expected_tasks(plan))
    if not shown.scores.reset_index(drop=True).equals(kept.reset_index(drop=True)):
        return WRONG
    if cells(shown.leaderboard) != cells(right):
        return WRONG
    if cells(shown.board) != cells(expected.board):
        return WRONG if cells(shown.board) or not shown.reasons else ABSENT
    if len(kept) == len(expected.scores):
        return RIGHT
    table = shown.leaderboard
    return ABSENT if table.row_notes or table.missing else WRONG


def expected_tasks(plan: Plan) -> list[str]:
    """Names of the tasks of an experiment."""
    return list(plan.experiment.evaluate.chosen)


def cells(table: Table) -> Mapping[str, object]:
    """Measured rows of a table that have scores, by name."""

    def of(row: Row) -> object:
        found = (*row.scores, row.average)
        return tuple((one.mean, one.sd) if one else None for one in found)

    return {row.name: of(row) for row in table.rows if any(row.scores)}


def flip(path: Path, bit: int) -> None:
    """Flips one bit of a file."""
    with path.open("r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def campaign(
    plan: Plan, folder: Path, flips: int, seed: int, tell: Callable[[str], None] = lambda line: None
) -> dict[str, Counter[str]]:
    """Group of files to the number of flips with each outcome.

    Args:
        folder: a finished store, which is as before afterwards.
        tell: called with a line on each flip that is not right or absent.
    """
    rng, expected = random.Random(seed), read(plan, folder)
    copy = folder.with_name(f"{folder.name}-intact")
    shutil.copytree(folder, copy)
    found: dict[str, Counter[str]] = {group: Counter() for group in GROUPS}
    for _ in range(flips):
        groups = {group: files for group in GROUPS if (files := files_of(group, folder))}
        group = rng.choice(list(groups))
        path = rng.choice(groups[group])
        bit = rng.randrange(8 * path.stat().st_size)
        flip(path, bit)
        if group == ALONE:
            Store(folder).runs.snapshot.discard()
        found[group][one := outcome(plan, folder, expected)] += 1
        if one in (WRONG, TRACEBACK):
            tell(f"{one}: bit {bit} of {path.relative_to(folder)}")
        restore(folder, copy)
    shutil.rmtree(copy)
    return found


def files_of(group: str, folder: Path) -> list[Path]:
    """The files of a group that are not empty."""
    found = filter(Path.is_file, folder.glob(GROUPS[group]))
    return sorted(path for path in found if path.stat().st_size)


def restore(folder: Path, copy: Path) -> None:
    """Makes a folder like its copy. Files are changed in place, as MLflow keeps its tables open."""
    for path in filter(Path.is_file, sorted(folder.rglob("*"))):
        if not (copy / path.relative_to(folder)).exists():
            path.unlink()
    for path in filter(Path.is_file, sorted(copy.rglob("*"))):
        target, content = folder / path.relative_to(copy), path.read_bytes()
        if not target.exists() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def main() -> None:
    """Prints the outcomes by group of files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiment", default="experiments/smoke.yaml")
    parser.add_argument("--store", type=Path, help="a finished store to copy")
    parser.add_argument("--flips", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name) / "runs"
        if options.store:
            shutil.copytree(options.store, folder)
        study = Study.load(options.experiment, store=folder).run()
        found = campaign(study.plan, folder, options.flips, options.seed, print)
    print(f"{'':35}" + "".join(f"{one:>24}" for one in OUTCOMES))
    for group, counts in found.items():
        print(f"{group:35}" + "".join(f"{counts[one]:24}" for one in OUTCOMES))
    bad = sum(counts[WRONG] + counts[TRACEBACK] for counts in found.values())
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
