"""The cards of data sets: the YAML header of a README.md, which lists configs and their files."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

Card = dict[str, Any]


def card(folder: Path) -> Card:
    """The card of the data set in `folder`; empty if there is none.

    Raises:
        ValueError: it cannot be read, or lists no configs with files where it has configs.
    """
    readme = folder / "README.md"
    return _header(readme, readme.stat().st_mtime_ns) if readme.is_file() else {}


def configs(found: Card) -> list[Card]:
    """The entries of the configs of a card."""
    return found.get("configs") or []


def name_of(entry: Card) -> str:
    """The name of a config."""
    return str(entry.get("config_name", "default"))


def splits(entry: Card) -> list[str]:
    """Splits of a config; files without a split belong to `train`."""
    return [
        item.get("split", "train") if isinstance(item, dict) else "train"
        for item in _listed(entry, [])
    ]


def patterns(entry: Card) -> Iterator[str]:
    """Glob patterns of a config's data files, in all notations of data set cards."""
    for item in _listed(entry, ["**/*"]):
        paths = item["path"] if isinstance(item, dict) else item
        yield from [paths] if isinstance(paths, str) else paths


def _listed(entry: Card, default: list[Any]) -> list[Any]:
    """The items of the data files of a config."""
    found = entry.get("data_files") or default
    return [found] if isinstance(found, str) else found


@functools.cache
def _header(readme: Path, mtime_ns: int) -> Card:
    """The YAML header of a file; the modification time is a key of the cache only. BLiMP's header
    takes half a second, and is read for each of its 67 configs."""
    try:
        before, _, rest = readme.read_text(encoding="utf-8").partition("---\n")
        found = (yaml.safe_load(rest.partition("\n---")[0]) or {}) if not before else {}
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise _unreadable(readme, " ".join(str(error).split())) from error
    if not isinstance(found, dict) or not _is_list(configs(found), _is_config):
        raise _unreadable(readme, "its configs are no list of names and data_files with paths")
    return found


def _unreadable(readme: Path, reason: str) -> ValueError:
    return ValueError(
        f"{readme} must begin with the card of a data set in YAML, but {reason}; copy it again "
        "from the Hub repository"
    )


def _is_config(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("config_name", ""), str):
        return False
    files = entry.get("data_files") or []
    return isinstance(files, str) or _is_list(files, _has_paths)


def _has_paths(item: Any) -> bool:
    paths = item.get("path") if isinstance(item, dict) else item
    return isinstance(paths, str) or _is_list(paths, lambda path: isinstance(path, str))


def _is_list(found: Any, has_form: Callable[[Any], bool]) -> bool:
    return isinstance(found, list) and all(map(has_form, found))
