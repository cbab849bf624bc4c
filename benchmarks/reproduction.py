"""Stages of the shipped reports, drawn at random, computed again and compared with the archives.

    python benchmarks/reproduction.py [--studies pretraining/nsp,quickstart] [--seconds 60]
        [--jobs 2] [--seed 0]

Of each archive below reports/, draws a stage of each kind whose results reports read, as far as all
that it depends on took at most `--seconds` then, and computes it in an empty store with all that it
depends on. Compares every metric but times and memory. Real data are read from HARNESS_DATA.

What is computed is kept in `--folder`, so that a run which was interrupted goes on.
"""

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks import common
from harness.core.config import unknown_name
from harness.exchange.archives.manifest import FILE, ArchivedStage
from harness.exchange.archives.read_archive import read_manifest
from harness.execution.provenance import commit
from harness.execution.run_plan import run_plan
from harness.experiment.declaration import load
from harness.plan.factory import make_plan
from harness.plan.first_seeds import RUNS
from harness.plan.plan import Plan
from harness.plan.stage_kinds import STAGE_KINDS
from harness.store.store import Store

ROOT = Path(__file__).parents[1]
REPORTS, EXPERIMENTS = ROOT / "reports", ROOT / "experiments"
SECONDS = "stage_seconds"
OF_MACHINE = ("second", "memory", "rss", "mfu")
"""Parts of the names of metrics that depend on the machine and its load."""


@dataclass(frozen=True)
class Compared:
    """A stage that was computed again."""

    key: str
    kind: str
    label: str
    differences: Mapping[str, float | None]
    """Metric to the new value minus the archived one, of those that are not equal; null where only
    one of them has the metric or it is a number."""


@dataclass(frozen=True)
class Reproduction:
    """What became of a study."""

    study: str
    limit: float
    """Seconds that its stages took at most, all together."""
    stages: Sequence[Compared] = ()
    why_not: str = ""
    """Why stages were not compared."""


def needed(plan: Plan, key: str) -> set[str]:
    """A stage and all that it depends on."""
    found, todo = set(), [key]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += plan.stages[one].parents.values()
    return found


def draw(
    plan: Plan, archived: Mapping[str, ArchivedStage], limit: float, rng: random.Random
) -> set[str]:
    """A stage of each kind with all that it depends on, in at most `limit` seconds in all by the
    times in the archive; without kinds for which there is no such stage."""

    def seconds(keys: Collection[str]) -> float:
        return sum(archived[key].metrics.get(SECONDS, 0.0) for key in keys)

    chosen: set[str] = set()
    kinds = [kind for kind, about in STAGE_KINDS.items() if about.is_result]
    for kind in reversed(kinds):  # the last kinds depend on stages of the first
        keys = [key for key, stage in plan.stages.items() if stage.kind == kind]
        chains = [chosen | needed(plan, key) for key in keys]
        fitting = [one for one in chains if one <= archived.keys() and seconds(one) <= limit]
        if fitting and not any(key in chosen for key in keys):
            chosen = rng.choice(fitting)
    return chosen


def only(plan: Plan, keys: Collection[str]) -> Plan:
    """The part of a plan with these stages."""
    parts: dict[str, Any] = {
        name: tuple(run for run in getattr(plan, name) if run.key in keys) for name in RUNS
    }
    stages = {key: stage for key, stage in plan.stages.items() if key in keys}
    pretrained = {of: key for of, key in plan.pretrain_keys.items() if key in keys}
    return replace(plan, stages=stages, pretrain_keys=pretrained, **parts)


def differences(new: Mapping[str, float], old: Mapping[str, float]) -> dict[str, float | None]:
    """As `Compared.differences`."""
    found: dict[str, float | None] = {}
    for name in sorted(new.keys() | old.keys()):
        if any(part in name for part in OF_MACHINE):
            continue
        one, other = new.get(name), old.get(name)
        if one is None or other is None or (one == one) != (other == other):
            found[name] = None
        elif one != other and one == one:
            found[name] = one - other
    return found


def reproduce(study: str, folder: Path, limit: float, seed: int) -> Reproduction:
    """Draws stages of a study and computes them again."""
    manifest = read_manifest(REPORTS / study / FILE)
    try:
        declaration = load(
            EXPERIMENTS / f"{study}.yaml", manifest.overrides, manifest.variants, with_data=True
        )
    except ValueError as error:  # such as data that are not there
        return Reproduction(study, limit, why_not=str(error).splitlines()[0])
    plan = make_plan(declaration)
    archived = {stage.key: stage for stage in manifest.stages}
    keys = draw(plan, archived, limit, random.Random(f"{seed} {study}"))
    if not keys:
        return Reproduction(study, limit, why_not=f"no stage took at most {limit:.0f} s")
    part, store = only(plan, keys), Store(folder)
    run = run_plan(part, store, 1, Console(quiet=True))
    new = store.finished(part.stages)
    compared = [
        Compared(key, one.kind, one.label, differences(new[key].metrics, archived[key].metrics))
        for key, one in part.stages.items()
        if key in new
    ]
    print(study, sum(not one.differences for one in compared), "of", len(compared), flush=True)
    return Reproduction(study, limit, compared, "; ".join(sorted(set(run.failed.values()))))


def all_studies() -> Iterator[str]:
    """The studies whose reports have an archive."""
    for file in sorted(REPORTS.rglob(FILE)):
        yield file.parent.relative_to(REPORTS).as_posix()


def page(figures: Mapping[str, Any]) -> str:
    """The figures as markdown: a row for each kind of stage, and what was not compared."""
    studies, machine = figures["studies"], figures["machine"]
    # Studies share stages.
    stages = {stage["key"]: stage for study in studies for stage in study["stages"]}
    rows = []
    for kind in STAGE_KINDS:
        of_kind = [stage for stage in stages.values() if stage["kind"] == kind]
        equal = sum(not stage["differences"] for stage in of_kind)
        if of_kind:
            rows.append([kind, str(len(of_kind)), str(equal)])
    limits = Counter(one["limit"] for one in studies if one["stages"])
    parts = " and ".join(
        f"{number} studies (at most {limit:.0f} s each)" for limit, number in limits.items()
    )
    setting = (
        f"Stages of {parts}, drawn at random and computed again from nothing by commit "
        f"{figures['commit']}; {machine['processor']}, torch {machine['torch']}."
    )
    reasons = Counter(one["why_not"] for one in studies if one["why_not"])
    remark = "".join(f"Not compared, {number} studies: {why}. " for why, number in reasons.items())
    for study in studies:
        for stage in study["stages"]:
            for name, value in stage["differences"].items():
                by = "" if value is None else f" by {value:.1g}"
                remark += f"Not equal: {name} of {stage['label']} in {study['study']}{by}. "
    head = ["kind of stage", "compared", "equal to the last digit"]
    return common.markdown(__file__, "Reproduction", setting, head, rows, remark=remark.strip())


def main() -> None:
    """Computes the stages again, and writes figures and page."""
    arguments = common.parse_arguments(
        __doc__, "reproduction", studies="", seconds=60, jobs=2, seed=0, folder=""
    )
    known = list(all_studies())
    studies = arguments.studies.split(",") if arguments.studies else known
    for study in set(studies).difference(known):
        raise SystemExit(unknown_name("the study", study, known))
    with TemporaryDirectory() as name:
        folder = Path(arguments.folder or name)
        with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
            started = [
                pool.submit(reproduce, one, folder, arguments.seconds, arguments.seed)
                for one in studies
            ]
            found = [asdict(one.result()) for one in started]
    figures = {
        "settings": common.settings(arguments),
        "machine": common.machine("torch"),
        "commit": commit(ROOT),
        "studies": found,
    }
    common.save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
