"""Writes the finished stages of an experiment to an archive."""

import io
import json
import lzma
import tarfile
from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.analysis.results import Results
from harness.core.files import atomic_path, relative_files
from harness.data.corpora.token_counts import save_token_counts
from harness.exchange.archives import read_archive
from harness.exchange.archives.hidden_texts import has_texts, without_texts
from harness.exchange.archives.manifest import FORMAT, MANIFEST, ArchivedStage, Manifest
from harness.execution.job import HISTORY
from harness.finetuning import distillation
from harness.store.artifacts import digest, folder_size
from harness.store.declared import read_declared
from harness.store.looks import read_looks
from harness.tasks.scores import PREDICTIONS, load_predictions

NOT_KEPT = (".safetensors", ".npy", f"/{distillation.TEXTS}")
"""Endings of the files that no report reads: weights, tokens, outputs of teachers, and the texts of
the train set with their copies."""
TEXTS = f"texts of {PREDICTIONS}"
"""What an archive leaves out whose texts are hidden."""
PLAIN: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False}
PRESET = 6 | lzma.PRESET_EXTREME


def write_archive(results: Results, path: Path, hide_texts: bool = False) -> int:
    """Writes all that reports, boards and comparisons read of an experiment's finished stages to
    one file. Equal results give equal bytes.

    Args:
        hide_texts: write digests for the texts of labels and predictions.

    Returns:
        Number of stages.

    Raises:
        ValueError: `path` does not end with .tar.xz, no stage has finished, or files of one are
            damaged.
    """
    if not path.name.endswith(".tar.xz"):
        raise ValueError(f"{path} must be a file that ends with .tar.xz")
    keys = [key for key in results.require().plan.stages if key in results.finished]
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        stages = tuple(_archived(results, key, folder / key, hide_texts) for key in keys)
        declaration = results.plan.declaration
        manifest = Manifest(
            format=FORMAT,
            experiment=results.experiment.name,
            variants=declaration.variants,
            overrides=declaration.overrides,
            declared=read_declared(results.store.root, results.experiment.name),
            looks=read_looks(results.store.root, results.experiment.name),
            stages=stages,
        )
        content = json.dumps(manifest.model_dump(), sort_keys=True)
        _check_size(len(content.encode()), folder)
        with (
            atomic_path(path) as draft,
            # With a digest of the whole content, which is compared when it is read.
            lzma.open(draft, "wb", check=lzma.CHECK_SHA256, preset=PRESET) as compressed,
            tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            _add(tar, MANIFEST, content.encode())
            for key, file in _members(folder, keys):
                _add(tar, f"{key}/{file}", (folder / key / file).read_bytes())
    return len(keys)


def _check_size(manifest_bytes: int, folder: Path) -> None:
    """Raises ValueError for an archive that could not be read."""
    files = relative_files(folder)
    size = manifest_bytes + folder_size(folder) + 2 * tarfile.BLOCKSIZE * (len(files) + 2)
    limits = (
        ("manifest", manifest_bytes, read_archive.MAX_MANIFEST_BYTES),
        ("content", size, read_archive.MAX_BYTES),
    )
    for name, found, limit in limits:
        if found > limit:
            raise ValueError(
                f"the {name} of an archive must have at most {limit:,} bytes, but would have "
                f"{found:,}: keep the store"
            )


def _archived(results: Results, key: str, out: Path, hide_texts: bool) -> ArchivedStage:
    """A stage, with its files in `out` but for those of NOT_KEPT."""
    record, stage, folder = results.finished[key], results.plan.stages[key], results.files(key)
    out.mkdir()
    names = [name.as_posix() for name in relative_files(folder) if name.as_posix() != HISTORY]
    for name in names:
        if not name.endswith(NOT_KEPT):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            _copy_uncompressed(folder / name, out / name)
    were_hidden = TEXTS in record.left_out  # in the archive from which the stage was restored
    has_hidden = hide_texts and not were_hidden and _hide_texts(out / PREDICTIONS)
    if stage.kind == "tokenize":
        save_token_counts(folder, out)
    # A restored stage lacks what its archive left out.
    before = [record.left_out] if record.left_out else []
    left_out = [*before, *(name for name in names if name.endswith(NOT_KEPT))]
    return ArchivedStage(
        key=key,
        kind=stage.kind,
        label=stage.label,
        spec={**stage.spec, "parents": dict(stage.parents)},
        metrics=dict(record.metrics),
        made_with=record.made_with,
        adopted=record.adopted,
        left_out=", ".join([*left_out, *([TEXTS] if has_hidden else [])]),
        digest=digest(out),
    )


def _hide_texts(file: Path) -> bool:
    """Writes digests for the texts of predictions; whether there are any."""
    predictions = load_predictions(file) if file.is_file() else None
    if predictions is None or not has_texts(predictions):
        return False
    pq.write_table(
        pa.Table.from_pandas(without_texts(predictions), preserve_index=False), file, **PLAIN
    )
    return True


def _copy_uncompressed(file: Path, out: Path) -> None:
    """Copies a file, the compressed ones without compression: runs on the same examples have much
    in common, which only the compression of all together finds."""
    if file.suffix == ".npz":
        with np.load(file) as arrays:
            np.savez(out, **arrays)
    elif file.suffix == ".parquet":
        pq.write_table(pq.read_table(file), out, **PLAIN)
    else:
        copyfile(file, out)


def _members(folder: Path, keys: list[str]) -> Iterator[tuple[str, str]]:
    """Key and name of all files, like ones after each other."""
    found = [(name.as_posix(), key) for key in keys for name in relative_files(folder / key)]
    for name, key in sorted(found, key=lambda one: (one[0], keys.index(one[1]))):
        yield key, name


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    """Adds a file without time and owner."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))
