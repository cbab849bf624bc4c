"""Data sets of the Hub that tasks, probes and corpora name: where they are, fetching, verifying."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from harness import hub
from harness.corpora import CORPORA
from harness.corpora.sources import HubCorpus
from harness.probes import PROBES, Probe
from harness.tasks import SUITES, TASKS
from harness.tasks.loading import Examples, available_splits, load_examples, place_of
from harness.tasks.task import HubData, Split, Task

SUMS = "SHA256SUMS.txt"
"""At the root of the mirrors, as `sha256sum` writes it; its comments give the commits."""
DEFAULT_FOLDER = Path("data")
User = Task | Probe | HubCorpus
Place = tuple[str, tuple[str | None, ...], str | None]
"""Repository, configs, commit."""


@dataclass(frozen=True)
class DataSet:
    """Configs of a Hub repository at one commit, and what names them."""

    path: str
    configs: tuple[str | None, ...]
    revision: str | None
    users: tuple[str, ...]
    licence: str

    @property
    def name(self) -> str:
        """`nyu-mll/glue/cola`; the repository alone, where there is no config or are several."""
        alone = len(self.configs) == 1 and self.configs[0]
        return f"{self.path}/{alone}" if alone else self.path

    @property
    def names(self) -> set[str]:
        """All that a person may call it."""
        return {self.name, self.name.partition("/")[2], self.path, *self.users}

    def folder(self) -> tuple[str, Path | None]:
        """What it is read from (mirror, Hub cache or missing), and where that is."""
        root = os.environ.get(hub.MIRROR)
        folder = Path(root).expanduser() / self.path if root else _cached(self.path, self.revision)
        try:
            if folder and folder.is_dir() and self.files(folder):
                return ("mirror" if root else "Hub cache"), folder
        except ValueError:  # not this config
            pass
        return "missing", None

    def files(self, folder: Path) -> list[Path]:
        """Its data files below the folder of the repository.

        Raises:
            ValueError: there are none.
        """
        return [file for config in self.configs for file in hub.config_files(folder, config)]


def _cached(path: str, revision: str | None) -> Path | None:
    """Where a download without a mirror has left a commit; the last one, if none is pinned."""
    from huggingface_hub.constants import HF_HUB_CACHE

    snapshots = Path(HF_HUB_CACHE) / f"datasets--{path.replace('/', '--')}" / "snapshots"
    found = [snapshots / revision] if revision else sorted(snapshots.glob("*"))
    return found[-1] if found else None


def users() -> dict[str, User]:
    """Name to each task, probe and corpus that reads the Hub."""
    named = {**CORPORA, **PROBES, **TASKS}
    return {
        name: user
        for name, user in named.items()
        if isinstance(user, HubCorpus)
        or (isinstance(user, Probe | Task) and isinstance(user.data, HubData))
    }


def places(user: User) -> list[Place]:
    """Repository, configs and commit of all that one of them reads."""
    if isinstance(user, HubCorpus):
        return [(user.path, (user.config,), user.revision)]
    data = user.data
    assert isinstance(data, HubData)
    if isinstance(user, Probe):
        return [(data.path, user.categories, data.revision)]
    others = [place_of(data, split) for split in (*user.evaluation, *user.test)]
    found = dict.fromkeys([(data.path, data.config, data.revision), *others])
    return [(path, (config,), revision) for path, config, revision in found]


def _licence(user: User) -> str:
    return "see its card" if isinstance(user, HubCorpus) else user.licence


def data_sets() -> list[DataSet]:
    """Every one of them, by name."""
    by_place: dict[Place, list[str]] = {}
    for name, user in users().items():
        for place in places(user):
            by_place.setdefault(place, []).append(name)
    known = users()
    sets = [
        DataSet(*place, tuple(names), _licence(known[names[0]]))
        for place, names in by_place.items()
    ]
    return sorted(sets, key=lambda one: one.name)


def chosen(names: Sequence[str], suite: str | None = None) -> list[DataSet]:
    """Those called by `names` or used by the tasks of a suite.

    Raises:
        ValueError: a name is not known, or there is no such suite.
    """
    if suite is not None and suite not in SUITES:
        raise ValueError(f"there is no suite {suite!r}; there are {', '.join(SUITES)}")
    names = [*names, *(task for task in (SUITES[suite].tasks if suite else ()) if task in users())]
    sets = data_sets()
    for name in names:
        if not any(name in one.names for one in sets):
            raise ValueError(f"no data set is called {name!r}; 'harness data list' shows them all")
    return [one for one in sets if one.names.intersection(names)]


def to_fetch(names: Sequence[str], suite: str | None) -> list[DataSet]:
    """Those asked for.

    Raises:
        ValueError: none is asked for, or one that there is not.
    """
    if not names and suite is None:
        raise ValueError("name what to fetch, or --suite; 'harness data list' shows all names")
    return chosen(names, suite)


def to_verify(names: Sequence[str], suite: str | None) -> list[DataSet]:
    """Those asked for, missing or not; all that are there, if nothing is asked for.

    Raises:
        ValueError: there is no such data set or suite.
    """
    if names or suite is not None:
        return chosen(names, suite)
    return [one for one in data_sets() if one.folder()[1]]


def rows() -> Iterator[tuple[str, ...]]:
    """Name, used by, licence, where, size on disk, and commit (12 digits) of every data set."""
    for one in data_sets():
        where, folder = one.folder()
        size = sum(file.stat().st_size for file in one.files(folder)) if folder else 0
        count = f" ({len(one.configs)} configs)" if len(one.configs) > 1 else ""
        text = f"{size / 1e6:,.1f} MB" if size else "-"
        commit = one.revision[:12] if one.revision else "not pinned"
        yield one.name + count, ", ".join(one.users), one.licence, where, text, commit


def fetch(sets: Sequence[DataSet], to: Path) -> Iterator[tuple[str, str]]:
    """Downloads pinned commits below `to`, set by set: (name, what went wrong or nothing)."""
    ordered = sorted(sets, key=lambda one: (one.path, str(one.revision)))
    for (path, revision), group in groupby(ordered, key=lambda one: (one.path, one.revision)):
        configs = [config for one in group for config in one.configs]
        try:
            _fetch(path, revision, configs, to)
            yield path, ""
        except (OSError, ValueError) as error:
            yield path, _explained(error)


def _explained(error: Exception) -> str:
    from huggingface_hub.errors import LocalEntryNotFoundError

    if isinstance(error, ConnectionError | TimeoutError | LocalEntryNotFoundError):
        reason = hub.one_line(error).partition(". ")[0]
        return (
            f"the Hub cannot be reached ({reason}): connect, or copy the repository from a machine "
            f"that can, to a folder that {hub.MIRROR} names"
        )
    return hub.one_line(error)


def _fetch(path: str, revision: str | None, configs: Sequence[str | None], to: Path) -> None:
    """The card first: it says which files a config has."""
    from huggingface_hub import snapshot_download

    folder, sums = to / path, read_sums(to)
    for file, digest in sums.items():  # or a damaged file would count as there already
        if file.startswith(f"{path}/") and (to / file).is_file() and _sha256(to / file) != digest:
            (to / file).unlink()

    def download(patterns: list[str] | None) -> None:
        snapshot_download(
            path,
            repo_type="dataset",
            revision=revision,
            local_dir=folder,
            allow_patterns=patterns,
        )

    download(["README.md"])
    patterns = hub.patterns_of(folder, configs)
    download(["README.md", *patterns] if patterns else None)
    for config in configs:
        hub.config_files(folder, config)
    _write_sums(to, path, revision or _latest(folder))


def _latest(folder: Path) -> str:
    """The commit that was downloaded, as the download notes it."""
    note = folder / ".cache/huggingface/download/README.md.metadata"
    return note.read_text().split()[0] if note.is_file() else "unknown"


def read_sums(root: Path) -> dict[str, str]:
    """File below `root` to its declared SHA-256; empty where nothing is declared."""
    path = root / SUMS
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    pairs = (line.split(maxsplit=1) for line in lines if line.strip() and line[0] != "#")
    return {file.lstrip("*"): digest for digest, file in pairs}


def _write_sums(root: Path, path: str, commit: str) -> None:
    """Adds or renews what is declared of one repository."""
    old = root / SUMS
    before = old.read_text(encoding="utf-8").splitlines() if old.is_file() else []
    kept = [n for n in before if f"  {path}/" not in n and not n.startswith(f"# {path} ")]
    files = sorted(hub.visible(root / path, "**/*"))
    new = [f"{_sha256(file)}  {file.relative_to(root).as_posix()}" for file in files]
    old.write_text("\n".join([*kept, f"# {path} commit {commit}", *new, ""]), encoding="utf-8")


def verify(sets: Sequence[DataSet]) -> Iterator[tuple[str, str, str]]:
    """(name, rows, what is wrong) of each check; the others are made where one fails."""
    for one in sets:
        where, folder = one.folder()
        if folder is None:
            yield one.name, "", f"it is {where}: harness data fetch {one.name}"
            continue
        problems = list(_damaged(one, folder)) if where == "mirror" else []
        yield from ((one.name, "", problem) for problem in problems)
        for name in one.users if not problems else ():
            try:
                yield from (
                    (one.name, f"{name}: {line}", "") for line in _found(users()[name], one)
                )
            except (ValueError, OSError) as error:
                yield one.name, "", hub.one_line(error)


def _damaged(one: DataSet, folder: Path) -> Iterator[str]:
    """Files that are not what was declared, or cannot be read at all."""
    root = folder.parents[len(Path(one.path).parts) - 1]
    sums = read_sums(root)
    try:
        files = one.files(folder)
    except ValueError as error:
        yield hub.one_line(error)
        return
    for file in files:
        declared = sums.get(file.relative_to(root).as_posix())
        if declared and _sha256(file) != declared:
            problem = f"its SHA-256 is not that of {SUMS}"
        else:
            problem = _unreadable(file)
        if problem:
            yield f"{file} is damaged: {problem}; fetch it again: harness data fetch {one.name}"


def _unreadable(file: Path) -> str:
    """Why a parquet file cannot be opened; empty if it can, or is none."""
    import pyarrow.parquet

    try:
        if file.suffix == ".parquet":
            pyarrow.parquet.ParquetFile(file).close()
    except (ValueError, OSError) as error:
        return hub.one_line(error)
    return ""


def _found(user: User, one: DataSet) -> list[str]:
    """Numbers of rows, read as a stage reads them: with columns, classes and labels checked; and a
    warning for each split that can tell nothing."""
    if isinstance(user, HubCorpus):
        return [_counted(user, one)]
    if isinstance(user, Probe):
        from harness.probes.items import load_items

        return [f"{len(load_items(user)):,} items"]
    counts, warnings = [], []
    for split in _splits(user, one):
        examples = load_examples(user, split)
        counts.append(f"{split.name} {len(examples):,}")
        if found := _only_class(user, split, examples):
            warnings.append(
                f"warning: {split.name} has only the class {found}: nothing can be told from it"
            )
    return [", ".join(counts), *warnings]


def _counted(corpus: HubCorpus, one: DataSet) -> str:
    dataset = hub.load(corpus.path, corpus.config, corpus.split, corpus.revision)
    if corpus.text_field not in dataset.column_names:
        raise ValueError(
            f"{one.name} has no column {corpus.text_field!r}, which its corpus reads; it has "
            f"{', '.join(dataset.column_names)}"
        )
    return f"{corpus.split} {len(dataset):,}"


def _only_class(task: Task, split: Split, examples: Examples) -> str:
    """The class of all examples; empty if there are several, or a split is of one by design."""
    designed = task.label_field in split.where or examples.hidden
    if task.kind != "classification" or len(task.labels) < 2 or designed:
        return ""
    found = np.unique(examples.labels)
    return task.labels[found[0]] if len(found) == 1 else ""


def _splits(task: Task, one: DataSet) -> list[Split]:
    """The task's splits, train among them, that are in this data set."""
    assert isinstance(task.data, HubData)
    train = [Split(name=task.train)] if task.train else []
    splits = (*train, *available_splits(task, submission=True))
    own = [(one.path, config, one.revision) for config in one.configs]
    return [split for split in splits if place_of(task.data, split) in own]


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
