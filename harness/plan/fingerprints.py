"""What identifies the data of a plan: read from the data, or as finished stages recorded it."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.data.corpora import load_corpus
from harness.data.corpora.sources import Corpus
from harness.models.checkpoints import files
from harness.plan.keys import without_nulls
from harness.tasks import load_examples
from harness.tasks.evaluation_texts import evaluation_fingerprints
from harness.tasks.probes import PROBES, items
from harness.tasks.task import Task

GENERATED = "microworld:"
"""Beginning of the fingerprints of generated data, which any machine has."""


def _of_probe(probe: str, world: int) -> str:
    return items.fingerprint(PROBES[probe], world)


@dataclass(frozen=True)
class Fingerprints:
    """Functions that return strings which identify data, without loading them.

    Each raises ValueError if the data are missing.
    """

    corpus: Callable[[Corpus], str] = load_corpus.fingerprint
    suite: Callable[[str], dict[str, str]] = evaluation_fingerprints
    """Name of a suite to task to string: the texts that are removed from a corpus."""
    task: Callable[[Task], str] = load_examples.fingerprint
    probe: Callable[[str, int], str] = _of_probe
    """Of a name and the seed of the micro-world."""
    checkpoint: Callable[[str, str | None], str] = files.fingerprint
    """Of a name or folder and a commit."""


def recorded_fingerprints(specs: Iterable[Mapping[str, Any]]) -> Fingerprints:
    """The fingerprints that stages were computed with: so that their keys can be planned where the
    data are not, or have changed. Those that are not recorded, and those of generated data, are
    read.

    Args:
        specs: of finished stages.
    """
    found = {name: value for spec in specs for name, value in _recorded(spec)}
    read = Fingerprints()
    return Fingerprints(
        corpus=lambda corpus: found.get(_corpus_name(corpus.model_dump())) or read.corpus(corpus),
        suite=lambda suite: found.get(("suite", suite)) or read.suite(suite),
        task=lambda task: found.get(("task", task.name)) or read.task(task),
        probe=lambda probe, world: found.get(("probe", probe)) or read.probe(probe, world),
        checkpoint=lambda name, revision: (
            found.get(("checkpoint", name, revision)) or read.checkpoint(name, revision)
        ),
    )


def _recorded(spec: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Names of the data of a stage, and their fingerprints."""
    for part in (spec, *spec.get("tasks", ())):
        print_of = part.get("fingerprint", GENERATED)
        if not print_of.startswith(GENERATED):
            yield from ((name, print_of) for name in _names(part))
    if "held_out_text" in spec:
        yield _corpus_name(spec["held_out"]), spec["held_out_text"]
    for suite, tasks in spec.get("evaluation", {}).items():
        if not all(one.startswith(GENERATED) for one in tasks.values()):
            yield ("suite", suite), tasks


def _names(spec: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The names of the data that the fingerprint of a specification is of."""
    if "corpus" in spec:
        yield _corpus_name(spec["corpus"])
    if "checkpoint" in spec:
        yield "checkpoint", spec["checkpoint"]["name"], spec["checkpoint"]["revision"]
    yield from ((kind, spec[kind]) for kind in ("task", "probe") if kind in spec)


def _corpus_name(corpus: Mapping[str, Any]) -> tuple[str, str]:
    """A corpus with the paths of its files, by which alone two local ones may differ."""
    return "corpus", json.dumps(without_nulls(corpus), sort_keys=True)
