"""The Hub data sets of tasks, probes and corpora, and where they are stored locally."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.core.config import unknown_name
from harness.core.files import user_path
from harness.data import hub
from harness.data.corpora import CORPORA, FACTS
from harness.data.corpora.sources import HubCorpus
from harness.tasks import SUITES, TASKS
from harness.tasks.load_examples import collection_of, source_of
from harness.tasks.probes import PROBES
from harness.tasks.probes.probe import Probe
from harness.tasks.task import HubData, Task

User = Task | Probe | HubCorpus
LARGE_GB = 10
"""Corpora with larger downloads are fetched on request only."""
Source = tuple[str, tuple[str | None, ...], str | None]
"""Repository, configs, commit."""


@dataclass(frozen=True)
class DataSet:
    """Configs of a Hub repository at one commit, and the tasks, probes and corpora that use it."""

    path: str
    configs: tuple[str | None, ...]
    revision: str | None
    users: tuple[str, ...]
    licence: str
    download_gb: float | None = None
    """Of a named corpus."""

    @property
    def name(self) -> str:
        """`nyu-mll/glue/cola`; the repository alone if there is no config or several."""
        alone = len(self.configs) == 1 and self.configs[0]
        return f"{self.path}/{alone}" if alone else self.path

    @property
    def names(self) -> set[str]:
        """All names that users may give."""
        return {self.name, self.name.partition("/")[2], self.path, *self.users}

    def folder(self) -> tuple[str, Path | None]:
        """`mirror`, `Hub cache` or `missing`, and the folder."""
        root = os.environ.get(hub.MIRROR)
        folder = user_path(root) / self.path if root else _cached(self.path, self.revision)
        try:
            if folder and folder.is_dir() and self.files(folder):
                return ("mirror" if root else "Hub cache"), folder
        except ValueError:  # not this config
            pass
        return "missing", None

    def files(self, folder: Path) -> list[Path]:
        """Its data files in the folder of the repository.

        Raises:
            ValueError: no such files.
        """
        return [file for config in self.configs for file in hub.config_files(folder, config)]


def _cached(path: str, revision: str | None) -> Path | None:
    """The folder of a commit in the Hub cache; the last one if none is pinned."""
    from huggingface_hub.constants import HF_HUB_CACHE

    snapshots = Path(HF_HUB_CACHE) / f"datasets--{path.replace('/', '--')}" / "snapshots"
    found = [snapshots / revision] if revision else sorted(snapshots.glob("*"))
    return found[-1] if found else None


def _prepared(path: str, config: str | None) -> bool:
    """Whether the cache of `datasets` has the tables of a config."""
    from huggingface_hub.constants import HF_HOME

    cache = Path(os.environ.get("HF_DATASETS_CACHE", Path(HF_HOME) / "datasets"))
    folder = cache / path.replace("/", "___") / (config or "default")
    return any(folder.glob("*/*/dataset_info.json"))


def is_local(user: User) -> bool:
    """Whether everything that a task, probe or corpus reads is on this machine: in the mirror, or
    in the cache of the Hub or of `datasets`."""
    return all(
        DataSet(path, (config,), revision, (), "").folder()[1]
        or (not os.environ.get(hub.MIRROR) and _prepared(path, config))
        for path, configs, revision in sources(user)
        for config in configs
    )


def sets_of(user: User) -> list[DataSet]:
    """What a task, probe or corpus reads; without data sets that no shipped one uses."""
    wanted = {(path, config) for path, configs, _ in sources(user) for config in configs}
    return [
        one
        for one in data_sets()
        if wanted.intersection((one.path, config) for config in one.configs)
    ]


def fetch_command(sets: Sequence[DataSet]) -> str:
    """The command that downloads `sets`."""
    names = dict.fromkeys(one.name for one in sets)
    large = " --large" if any(map(is_large, sets)) else ""
    return f"harness data fetch {' '.join(names)}{large}"


def is_large(one: DataSet) -> bool:
    """Whether it is fetched on request only."""
    return (one.download_gb or 0) > LARGE_GB


def users() -> dict[str, User]:
    """Name to task, probe or corpus, for all that read the Hub."""
    named = {**CORPORA, **PROBES, **TASKS}
    return {
        name: user
        for name, user in named.items()
        if isinstance(user, HubCorpus)
        or (isinstance(user, Probe | Task) and isinstance(user.data, HubData))
    }


def sources(user: User) -> list[Source]:
    """The sources that a task, probe or corpus reads."""
    if isinstance(user, HubCorpus):
        return [(user.path, (user.config,), user.revision)]
    data = user.data
    assert isinstance(data, HubData)
    if isinstance(user, Probe):
        return [(data.path, user.categories, data.revision)]
    others = [source_of(data, split) for split in (*user.evaluation, *user.test)]
    found = dict.fromkeys([(data.path, data.config, data.revision), *others])
    collection = collection_of(data)
    configs = tuple(config for _, config, _ in collection)
    both = [(path, configs, revision) for path, _, revision in collection[:1]]
    return [*((path, (config,), revision) for path, config, revision in found), *both]


def data_sets() -> list[DataSet]:
    """All data sets, sorted by name."""
    by_source: dict[Source, list[str]] = {}
    known = users()
    for name, user in known.items():
        for source in sources(user):
            by_source.setdefault(source, []).append(name)
    sets = [
        DataSet(*source, tuple(names), _licence(names[0], known), _download_gb(names))
        for source, names in by_source.items()
    ]
    return sorted(sets, key=lambda one: one.name)


def _licence(name: str, known: Mapping[str, User]) -> str:
    facts = FACTS.get(name)
    return facts.licence if facts else getattr(known[name], "licence", "see its card")


def _download_gb(names: Sequence[str]) -> float | None:
    return next((FACTS[name].download_gb for name in names if name in FACTS), None)


def selected(names: Sequence[str], suite: str | None = None) -> list[DataSet]:
    """The data sets with these names, or used by the tasks of a suite.

    Raises:
        ValueError: an unknown name or suite.
    """
    if suite is not None and suite not in SUITES:
        raise ValueError(unknown_name("the suite", suite, SUITES))
    names = [*names, *(task for task in (SUITES[suite].tasks if suite else ()) if task in users())]
    sets = data_sets()
    for name in names:
        if not any(name in one.names for one in sets):
            raise ValueError(f"no data set is named {name!r}; 'harness data list' shows all names")
    return [one for one in sets if one.names.intersection(names)]


def to_fetch(names: Sequence[str], suite: str | None, large: bool = False) -> list[DataSet]:
    """The data sets to download.

    Args:
        large: whether corpora of more than `LARGE_GB` may be among them.

    Raises:
        ValueError: no selection, an unknown name or suite, or a large corpus.
    """
    if not names and suite is None:
        raise ValueError(
            "name data sets or a --suite to fetch; 'harness data list' shows all names"
        )
    sets = selected(names, suite)
    too_large = [one for one in sets if is_large(one) and not large]
    if too_large:
        sizes = ", ".join(f"{one.name} ({one.download_gb:,.0f} GB)" for one in too_large)
        raise ValueError(f"corpora of more than {LARGE_GB} GB need --large: {sizes}")
    return sets


def to_verify(names: Sequence[str], suite: str | None) -> list[DataSet]:
    """The data sets to verify: by default all that are stored locally.

    Raises:
        ValueError: an unknown name or suite.
    """
    if names or suite is not None:
        return selected(names, suite)
    return [one for one in data_sets() if one.folder()[1]]


def rows() -> Iterator[tuple[str, ...]]:
    """Name, users, licence, location, size and commit (12 digits) of every data set; the size is
    that on disk, or that of the download of a missing corpus."""
    for one in data_sets():
        where, folder = one.folder()
        size = sum(file.stat().st_size for file in one.files(folder)) if folder else 0
        count = f" ({len(one.configs)} configs)" if len(one.configs) > 1 else ""
        text = f"{size / 1e6:,.1f} MB" if size else _to_download(one)
        commit = one.revision[:12] if one.revision else "not pinned"
        yield one.name + count, ", ".join(one.users), one.licence, where, text, commit


def _to_download(one: DataSet) -> str:
    return f"({one.download_gb:,.1f} GB)" if one.download_gb else "-"
