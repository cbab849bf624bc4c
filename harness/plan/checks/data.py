"""Data sets of the Hub that are not on this machine."""

from collections.abc import Iterator

from harness.data.corpora.sources import HubCorpus, sources_of
from harness.plan.plan import Plan
from harness.tasks.datasets import catalog
from harness.tasks.datasets.fetch import DEFAULT_FOLDER
from harness.tasks.probes import PROBES
from harness.tasks.probes.probe import Probe
from harness.tasks.task import HubData, Task


def missing_data(plan: Plan) -> Iterator[str]:
    """Corpora, tasks and probes that would be downloaded during the run, with the command that
    downloads them before."""
    missing = {name: user for name, user in _users(plan).items() if not catalog.is_local(user)}
    if not missing:
        return
    known = [one for user in missing.values() for one in catalog.sets_of(user)]
    command = (
        f"; fetch them before: {catalog.fetch_command(known)}, then set "
        f"HARNESS_DATA={DEFAULT_FOLDER}"
        if known
        else ""
    )
    size = sum(one.download_gb or 0 for one in known)
    if any(map(catalog.is_large, known)):
        command += "; or stream a part of a corpus (corpus.streaming, corpus.max_bytes)"
    yield (
        f"{', '.join(missing)}: neither in HARNESS_DATA nor in the cache of the Hub, and downloaded"
        f"{f' ({size:,.0f} GB)' if size > 1 else ''} when a stage first reads them{command}"
    )


def _users(plan: Plan) -> dict[str, catalog.User]:
    """Name to what reads the Hub."""
    found: dict[str, catalog.User] = {}
    for arm in plan.arms:
        evaluate, known = arm.evaluate, arm.evaluate.known_tasks
        steps = evaluate.continued_pretraining
        texts = [step.corpus_of(task) for step in steps for task in evaluate.chosen]
        if not arm.pretrain.model.checkpoint:
            texts += sources_of(arm.pretrain.corpus)
        found |= {
            text.path: text for text in texts if isinstance(text, HubCorpus) and not text.streaming
        }
        others = {name: known[name] for name in evaluate.earlier_tasks}
        read: dict[str, Task | Probe] = {name: PROBES[name] for name in evaluate.probes}
        read |= {**evaluate.chosen, **others}
        found |= {name: one for name, one in read.items() if isinstance(one.data, HubData)}
    return found
