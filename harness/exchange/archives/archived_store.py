"""The stages of an archive: as a store for a report, or put into a store."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.analysis.recording import record_results
from harness.analysis.results import Results
from harness.exchange.archives.manifest import ArchivedStage
from harness.exchange.archives.read_archive import Archive, opened
from harness.execution.lease import RECORDING, lease
from harness.experiment.declaration import Declaration
from harness.plan.factory import make_plan
from harness.plan.fingerprints import recorded_fingerprints
from harness.plan.plan import Plan
from harness.store.artifacts import resolve
from harness.store.declared import keep_declared
from harness.store.looks import keep_looks
from harness.store.store import StageResult, Store


class ArchivedStore(Store):
    """The stages of an archive, to be read only: to record them takes 0.1 s each."""

    def __init__(self, archive: Archive, root: Path) -> None:
        """The store of an archive.

        Args:
            root: a new folder.
        """
        super().__init__(root)
        self._stages = {one.key: _result(one, archive.folder) for one in archive.manifest.stages}
        keep_declared(root, archive.manifest.experiment, archive.manifest.declared)
        keep_looks(root, archive.manifest.experiment, archive.manifest.looks)

    def finished(self, keys: Iterable[str] | None = None) -> dict[str, StageResult]:
        """Key to result of the stages in the archive."""
        wanted = set(self._stages if keys is None else keys)
        return {key: one for key, one in self._stages.items() if key in wanted}

    def find(self, key: str) -> StageResult | None:
        """The result of one stage; null if the archive lacks it."""
        return self._stages.get(key)

    def fetch(self, record: StageResult) -> Path:
        """The folder of a stage's files, whose digest `opened` compared."""
        return resolve(record.artifact_uri)


def _result(stage: ArchivedStage, folder: Path) -> StageResult:
    return StageResult(
        key=stage.key,
        kind=stage.kind,
        run_id=stage.key,
        metrics=stage.metrics,
        artifact_uri=(folder / stage.key).as_uri(),
        digest=stage.digest,
        made_with=stage.made_with,
        adopted=stage.adopted,
        label=stage.label,
        left_out=stage.left_out,
    )


@contextmanager
def archived_stages(path: Path, declaration: Declaration) -> Iterator[tuple[Plan, Store]]:
    """The plan of an experiment and the store of its archive, as long as the context lasts. The
    data need not be there: the plan has the fingerprints that the archive has.

    Raises:
        ValueError: as `opened`; or the archive has other stages of the experiment only.
    """
    name = declaration.experiment.name
    with opened(path, name) as archive:
        plan = archived_plan(declaration, archive.manifest.stages)
        store = ArchivedStore(archive, archive.folder.with_name("root"))
        if not store.finished(plan.stages):
            raise ValueError(
                f"{path} must have stages of {name} as it is planned now, but has none: the "
                "experiment, the micro-world or the version of a stage has changed since"
            )
        yield plan, store


def archived_plan(declaration: Declaration, stages: Iterable[ArchivedStage]) -> Plan:
    """The plan of an experiment with the fingerprints of the data that archived stages have."""
    return make_plan(declaration, recorded_fingerprints(one.spec for one in stages))


def restore_archive(path: Path, plan: Plan, store: Store) -> list[str]:
    """Puts the stages of an archive into a store, and records the experiment for boards; stages
    that are there are left as they are.

    Returns:
        The keys of the stages that were put there.

    Raises:
        ValueError: as `opened`; or the store cannot be written.
    """
    name = plan.experiment.name
    with opened(path, name) as archive:
        store.create_folder()
        stages = archive.manifest.stages
        known = store.finished(one.key for one in stages)
        missing = [one for one in stages if one.key not in known]
        restored = [one.key for one in missing if _record(one, archive.folder / one.key, store)]
        keep_declared(store.root, name, archive.manifest.declared)
        keep_looks(store.root, name, archive.manifest.looks)
    results = Results(plan, store)
    if results.finished:
        record_results(results)
    return restored


def _record(stage: ArchivedStage, folder: Path, store: Store) -> bool:
    """Records a stage, unless a run has just computed it; whether it did."""
    with lease(store.root / RECORDING):
        if store.find(stage.key):
            return False
        store.record(
            stage.key,
            stage.kind,
            stage.label,
            stage.spec,
            stage.metrics,
            folder,
            made_with=stage.made_with,
            adopted=stage.adopted,
            left_out=stage.left_out,
        )
        return True
