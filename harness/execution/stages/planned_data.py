"""The data that a stage reads from outside the store, as they were when it was planned: a change in
between would give a wrong result under the stage's key."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from shutil import copyfile
from typing import Any, Literal

from pydantic import TypeAdapter

from harness.core.files import make_once
from harness.data.corpora import load_corpus
from harness.data.corpora.sources import Corpus
from harness.data.digests import check_unchanged, unchanged
from harness.models.checkpoints import files
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks import load_examples
from harness.tasks.evaluation_texts import evaluation_fingerprints
from harness.tasks.examples import Examples, split_holdout
from harness.tasks.probes.items import Item, fingerprint, load_items
from harness.tasks.probes.probe import Probe
from harness.tasks.task import Split, Task
from harness.tasks.text_groups import text_groups

CORPUS: TypeAdapter[Corpus] = TypeAdapter(Corpus)
HOLDOUT_SEED = 0
"""Of the split into train and hold-out: the same for all arms and seeds."""


@contextmanager
def planned_text(spec: Mapping[str, Any]) -> Iterator[Corpus]:
    """A context with the corpus of a spec, whose text, held-out text and removed texts must not
    change before its end.

    Raises:
        DataChangedError: they are not those of the plan.
    """
    corpus = CORPUS.validate_python(spec["corpus"])
    planned = {name: spec.get(name) for name in ("fingerprint", "held_out_text", "evaluation")}
    with unchanged("the files of the corpus", planned, partial(_present, spec, corpus)):
        yield corpus


def _present(spec: Mapping[str, Any], corpus: Corpus) -> Mapping[str, Any]:
    """The fingerprints of the present content."""
    held_out, suites = spec.get("held_out"), spec.get("evaluation")
    return {
        "fingerprint": load_corpus.fingerprint(corpus),
        "held_out_text": held_out and load_corpus.fingerprint(CORPUS.validate_python(held_out)),
        "evaluation": suites and {name: evaluation_fingerprints(name) for name in suites},
    }


@contextmanager
def planned_checkpoint(spec: Mapping[str, Any]) -> Iterator[Path]:
    """A context with the folder of an imported checkpoint, downloaded if necessary, whose files
    must not change before its end.

    Raises:
        DataChangedError: they are not those of the plan.
    """
    name, revision = spec["checkpoint"]["name"], spec["checkpoint"]["revision"]
    present = partial(files.fingerprint, name, revision)
    with unchanged(f"the files of {name}", spec["fingerprint"], present):
        yield files.fetch(name, revision)


def planned_items(spec: Mapping[str, Any], probe: Probe) -> list[Item]:
    """The items of a probe.

    Raises:
        DataChangedError: they are not those of the plan.
    """
    world = spec.get("world", 0)
    present = partial(fingerprint, probe, world)
    with unchanged(f"the items of {probe.name}", spec["fingerprint"], present):
        return load_items(probe, world)


def with_planned_vectors(run: Pretrain, planned: str, state: Path) -> Pretrain:
    """`run` with a copy of its word vectors, which are read again when a run is resumed.

    Args:
        planned: SHA-256 of the file.
        state: folder of the copy.

    Raises:
        DataChangedError: the file is not that of the plan.
    """
    file = Path(str(run.model.vectors))
    copy = state / "vectors" / file.name
    copy.parent.mkdir(exist_ok=True)
    make_once(copy, partial(_copy_vectors, file, planned))
    model = run.model.model_copy(update={"vectors": str(copy)})
    return run.model_copy(update={"model": model})


def _copy_vectors(file: Path, planned: str, copy: Path) -> None:
    copyfile(file, copy)
    with copy.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    check_unchanged("the word vectors", planned, found)


@lru_cache(maxsize=8)
def _read(content: str, split: str, planned: str) -> Examples:
    task = Task.model_validate_json(content)
    with unchanged(f"the data of {task.name}", planned, partial(load_examples.fingerprint, task)):
        return load_examples.load_examples(
            task, "train" if split == "train" else Split.model_validate_json(split)
        )


def read_examples(task: Task, split: Split | Literal["train"], planned: str) -> Examples:
    """The examples of a split; the most recent are kept in memory, as many stages share them.

    Args:
        planned: fingerprint of the data in the key of the stage.

    Raises:
        ValueError: the data have changed since, are missing, or do not match the declaration.
    """
    name = split if isinstance(split, str) else split.model_dump_json()
    return _read(task.model_dump_json(), name, planned)


def read_train(task: Task, planned: str, protocol: Mapping[str, Any]) -> tuple[Examples, Examples]:
    """The train set without the hold-out, shuffled, and the hold-out.

    Args:
        planned: as for `read_examples`.
        protocol: holds `holdout_fraction`, `max_holdout_examples` and, unless null,
            `holdout_groups`.

    Raises:
        ValueError: as `read_examples` and `split_holdout`.
    """
    examples = read_examples(task, "train", planned)
    fraction, most = protocol["holdout_fraction"], protocol["max_holdout_examples"]
    by_text = protocol.get("holdout_groups") == "texts"
    groups = text_groups(examples, task.kind) if by_text else None
    return split_holdout(examples, fraction, most, HOLDOUT_SEED, groups)
