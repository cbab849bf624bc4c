"""Data sets of the Hub that tasks, probes and corpora name, and where they are."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.data import hub
from harness.data.corpora import CORPORA
from harness.data.corpora.sources import HubCorpus
from harness.tasks import SUITES, TASKS
from harness.tasks.load_examples import place_of
from harness.tasks.probes import PROBES
from harness.tasks.probes.probe import Probe
from harness.tasks.task import HubData, Task

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
