"""Data sets of the Hub that are not on this machine."""

from collections.abc import Iterator

from harness.data.corpora.sources import (
    Corpus,
    HubCorpus,
    SingleCorpus,
    TaskCorpus,
    decontaminated,
    sources_of,
)
from harness.experiment.arms import Arm
from harness.plan.plan import Plan
from harness.tasks import SUITES
from harness.tasks.datasets import catalog
from harness.tasks.datasets.fetch import DEFAULT_FOLDER
from harness.tasks.probes import PROBES
from harness.tasks.probes.probe import Probe
from harness.tasks.task import HubData, Task


def missing_data(plan: Plan) -> Iterator[str]:
    """Corpora, tasks and probes that would be downloaded during the run, with the command that
    downloads them before."""
    missing = {one: user for one, user in _users(plan).items() if not catalog.is_local(user)}
    if not missing:
        return
    known = list(dict.fromkeys(one for user in missing.values() for one in catalog.sets_of(user)))
    command = (
        f"; fetch them before: {catalog.fetch_command(known)}, then set "
        f"HARNESS_DATA={DEFAULT_FOLDER}"
        if known
        else ""
    )
    size = sum(one.download_gb or 0 for one in known)
    if any(map(catalog.is_large, known)):
        command += "; or stream a part of a corpus (corpus.streaming, corpus.max_bytes)"
    names = ", ".join(dict.fromkeys(name for name, _ in missing))
    yield (
        f"{names}: neither in HARNESS_DATA nor in the cache of the Hub, and downloaded"
        f"{f' ({size:,.0f} GB)' if size > 1 else ''} when a stage first reads them{command}"
    )


def _users(plan: Plan) -> dict[tuple[str, str | None], catalog.User]:
    """Name and, of a corpus, config to what reads the Hub."""
    found: dict[tuple[str, str | None], catalog.User] = {}
    for arm in plan.arms:
        evaluate, known = arm.evaluate, arm.evaluate.known_tasks
        texts = list(_corpora(arm))
        found |= {
            (text.path, text.config): text
            for text in texts
            if isinstance(text, HubCorpus) and not text.streaming
        }
        suites = [name for text in texts for name in decontaminated(text)]
        removed = [task for name in suites for task in SUITES[name].tasks]
        read: list[Task | Probe] = [PROBES[name] for name in evaluate.probes]
        read += evaluate.chosen.values()
        read += [known[name] for name in (*evaluate.earlier_tasks, *removed)]
        found |= {(one.name, None): one for one in read if isinstance(one.data, HubData)}
    return found


def _corpora(arm: Arm) -> Iterator[SingleCorpus | TaskCorpus]:
    """The sources of all texts that an arm reads: of continued pretraining, of pretraining, held
    out, and of its tokenizer."""
    run, evaluate = arm.pretrain, arm.evaluate
    for step in evaluate.continued_pretraining:
        yield from map(step.corpus_of, evaluate.chosen)
    given: list[Corpus | None] = [run.corpus, run.held_out, run.tokenizer.corpus]
    for corpus in () if run.model.checkpoint else given:
        yield from sources_of(corpus) if corpus else ()
