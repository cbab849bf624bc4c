"""Arms whose texts differ from one another, or from those of the tasks."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations, product
from pathlib import Path

from harness.data.corpora.local_files import corpus_files, found_files
from harness.data.corpora.sources import (
    Corpus,
    LocalCorpus,
    MicroworldCorpus,
    MixedCorpus,
    SingleCorpus,
    clean_text,
)
from harness.plan.plan import Plan
from harness.pretraining.recipes.pretrain import Pretrain
from harness.tasks.task import MicroworldData


def unequal_text(plan: Plan) -> Iterator[str]:
    """An axis over the text that also changes the vocabulary or the text of the losses."""
    runs = list(_runs(plan).values())
    if len({run.corpus for run in runs}) < 2:
        return
    learned = {clean_text(run.tokenizer.corpus or run.corpus) for run in runs}
    measured = {clean_text(run.held_out or run.corpus) for run in runs}
    fields = {
        "vocabularies (pretrain.tokenizer.corpus)": len(learned) > 1,
        "held-out texts (pretrain.held_out)": len(measured) > 1,
    }
    if differing := [name for name, differs in fields.items() if differs]:
        yield (
            f"the arms pretrain on different text, and have different {' and '.join(differing)}, "
            "so that the text is not all that differs; set the fields to one corpus for all arms"
        )


SPLITTING = ("validation_fraction", "steps", "sort_by", "shuffle_seed")
"""Fields of a source that decide which of its documents are held out."""
SELECTION = {
    "validation_fraction",
    "max_documents",
    "max_bytes",
    "num_tokens",
    "steps",
    "sort_by",
    "streaming",
    "shuffle_seed",
}
"""Fields of a source by which two parts of one text differ, which share documents."""


def trained_held_out(plan: Plan) -> Iterator[str]:
    """Arms that train on text of their held-out loss."""
    runs = _runs(plan).items()
    if arms := [name for name, run in runs if run.held_out and _overlap(run.corpus, run.held_out)]:
        yield (
            f"{', '.join(arms)}: pretrain.held_out is also text of pretrain.corpus, so that its "
            "loss is not that of unseen text; choose other text, or set it to null, which holds "
            "out a part of the corpus"
        )
    if arms := [name for name, run in runs if run.held_out is None and _trains_on_own(run.corpus)]:
        yield (
            f"{', '.join(arms)}: two sources of pretrain.corpus read the same text, but hold out "
            "different documents, so that the held-out loss is not that of unseen text; give them "
            f"the same files and equal {', '.join(SPLITTING)}, or set pretrain.held_out to other "
            "text"
        )


def _trains_on_own(corpus: Corpus) -> bool:
    """Whether a source of a mixture holds out documents that another one trains on."""
    return any(
        _same_text(*pair) and not _same_split(*pair) for pair in combinations(_parts(corpus), 2)
    )


def _same_split(one: SingleCorpus, other: SingleCorpus) -> bool:
    """Whether two sources of the same text hold out the same documents."""
    equal = all(getattr(one, name, None) == getattr(other, name, None) for name in SPLITTING)
    return equal and _files(one) == _files(other)


def _files(source: SingleCorpus) -> list[Path]:
    return found_files(source) if isinstance(source, LocalCorpus) else []


def _overlap(one: Corpus, other: Corpus) -> bool:
    """Whether two corpora have a source or a file in common."""
    return any(_same_text(*pair) for pair in product(_parts(one), _parts(other)))


def _same_text(one: SingleCorpus, other: SingleCorpus) -> bool:
    if isinstance(one, LocalCorpus) and isinstance(other, LocalCorpus):
        with suppress(ValueError):  # missing files are reported elsewhere
            files = [{file.resolve() for file in corpus_files(each)} for each in (one, other)]
            return not files[0].isdisjoint(files[1])
    return one.model_dump(exclude=SELECTION) == other.model_dump(exclude=SELECTION)


def foreign_tasks(plan: Plan) -> Iterator[str]:
    """Tasks of the micro-world, in its invented words, for networks that read none of its text."""
    tasks = plan.experiment.evaluate.chosen.values()
    generated = [task.name for task in tasks if isinstance(task.data, MicroworldData)]
    arms = [name for name, run in _runs(plan).items() if not _reads_microworld(run)]
    if generated and arms:
        yield (
            f"{', '.join(arms)}: pretrained without text of the micro-world, in whose words "
            f"{', '.join(generated)} are written; choose tasks in the language of the text "
            "('harness list suites', or files of your own in evaluate.tasks), or the corpus "
            "microworld"
        )


def _runs(plan: Plan) -> dict[str, Pretrain]:
    """The pretraining runs of arms that train anything in them, by the name of the arm."""
    return {
        arm.name: arm.pretrain
        for arm in plan.arms
        if arm.pretrain.model.facts.kind not in ("baseline", "checkpoint")
        and not arm.pretrain.budget.is_zero
    }


def _reads_microworld(run: Pretrain) -> bool:
    """Whether a run, or one that it continues, reads text of the micro-world."""
    before = run.init_from is not None and _reads_microworld(run.init_from)
    return before or any(isinstance(one, MicroworldCorpus) for one in _parts(run.corpus))


def _parts(corpus: Corpus) -> Iterator[SingleCorpus]:
    yield from corpus.sources.values() if isinstance(corpus, MixedCorpus) else (corpus,)
