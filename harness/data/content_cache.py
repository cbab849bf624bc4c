"""Cache folders of `datasets` by the content of files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree


@contextmanager
def content_cache(name: str, fingerprint: Callable[[], str]) -> Iterator[str]:
    """A cache folder of `datasets` for the content of files. Its own identifies files by their name
    and modification time, a mirror by its name and card, and would return stale data.

    Raises:
        ValueError: the content changed while it was read.
    """
    import datasets

    content = fingerprint()
    place = f"{name}-{content.removeprefix('sha256:')[:16]}"
    cache = Path(datasets.config.HF_DATASETS_CACHE) / place
    yield str(cache)
    if fingerprint() != content:
        rmtree(cache, ignore_errors=True)  # it may hold the new content
        raise ValueError("its content changed while it was read; run again")
