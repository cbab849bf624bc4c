"""Training, texts, recipes and checkpoints in the words of a model card, without local paths."""

import re
from pathlib import Path

from harness.core.counting import number_of
from harness.data.corpora.sources import (
    HubCorpus,
    MicroworldCorpus,
    MixedCorpus,
    StdlibCorpus,
    TaskCorpus,
)
from harness.exchange.checkpoints.card_data import Card, Step, Text
from harness.experiment.recipe_defaults import is_small, resolve_pretrain
from harness.models.checkpoints import files
from harness.plan.costs import pretraining_cost
from harness.plan.differences import flat_fields
from harness.pretraining.recipes import RECIPES
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.recipes.sources import recipe_source

HUB_NAME = re.compile(r"\w[\w.-]*(/[\w.-]+)?")
WHOLE = ("corpus", "budget", "init_from", "teacher")
"""Fields of a run that are named as a whole if anything within them differs."""


def training_rows(card: Card) -> list[tuple[str, str]]:
    """(name, value) of everything that determined the network."""
    rows = _of_checkpoint(card) if card.run.model.checkpoint else _of_run(card)
    steps = enumerate(card.steps, 1)
    rows += [(f"continued pretraining {n}", step_line(step)) for n, step in steps]
    trained = enumerate(card.task_steps, 1)
    rows += [(f"bi-encoder training {n}", step.line) for n, step in trained]
    return rows + ([("weights", card.weights)] if card.weights else [])


def _of_checkpoint(card: Card) -> list[tuple[str, str]]:
    model = card.run.model
    return [
        ("checkpoint", checkpoint_name(str(model.checkpoint))),
        ("revision", model.revision or "none pinned"),
        *([("parameters", f"{card.parameters:,}")] if card.parameters else []),
        ("licence", "that of the checkpoint"),
    ]


def _of_run(card: Card) -> list[tuple[str, str]]:
    run, metrics = card.run, card.metrics
    cost = pretraining_cost(run, card.vocab_size)
    figures = {
        "parameters": num_parameters(card),
        "updates": metrics.get("steps"),
        "tokens": metrics.get("tokens"),
    }
    rows = [
        ("recipe", _recipe(card)),
        ("objective", run.objective.formula),
        ("corpus", corpus_line(run.corpus)),
        ("licence of the corpus", corpus_licence(run.corpus)),
        ("tokenizer", f"{run.tokenizer.algorithm}, {_entries(card)} entries"),
        *([] if run.budget.is_zero else _training(run)),
        *((name, f"{value:,.0f}") for name, value in figures.items() if value is not None),
        *([("FLOPs", f"{cost.flops:.3g}")] if cost.flops is not None else []),
    ]
    losses = {n: v for n, v in metrics.items() if n.startswith("validation_")}
    return rows + [
        (f"held-out {n.removeprefix('validation_').replace('_', ' ')}", f"{v:.4g}")
        for n, v in losses.items()
    ]


def _recipe(card: Card) -> str:
    if card.recipe not in RECIPES:
        return card.recipe or "not recorded with the stage"
    changes, by_size = ", ".join(recipe_changes(card.run)), is_small(card.run)
    recipe = f"{card.recipe}, with the settings of small networks" if by_size else card.recipe
    if not changes:
        return recipe
    return (
        f"{recipe} and changes to: {changes}"
        if by_size
        else f"{recipe}, with changes to: {changes}"
    )


def _training(run: Pretrain) -> list[tuple[str, str]]:
    lengths = dict.fromkeys(str(phase.sequence_length) for phase in run.phases)
    batch = f"{number_of(run.batch_size, 'sequence')} of {', then '.join(lengths)} tokens"
    optimizer = f"{run.optimizer.kind}, learning rate {run.optimizer.learning_rate:g}"
    return [("optimiser", optimizer), ("batch", batch)]


def _entries(card: Card) -> str:
    declared = f"up to {card.run.tokenizer.vocab_size:,}"
    return f"{card.vocab_size:,}" if card.vocab_size else declared


def num_parameters(card: Card) -> int | None:
    """Number of parameters: of the files, or as counted before they are written."""
    return card.parameters or pretraining_cost(card.run, card.vocab_size).parameters


def corpus_line(corpus: Text) -> str:
    """A corpus in words; local files without their path."""
    if isinstance(corpus, MixedCorpus):
        return "; ".join(f"{name}: {corpus_line(one)}" for name, one in corpus.sources.items())
    if isinstance(corpus, MicroworldCorpus):
        part = f", domain {corpus.domain}" if corpus.domain else ""
        return f"microworld, the harness's generated English: {corpus.num_tokens:,} words{part}"
    if isinstance(corpus, HubCorpus):
        config = f"/{corpus.config}" if corpus.config else ""
        return (
            f"{corpus.path}{config} of the Hugging Face Hub, commit {corpus.revision or 'latest'}"
        )
    if isinstance(corpus, TaskCorpus):
        return "texts of a task's train set"
    if isinstance(corpus, StdlibCorpus):
        return "standard library of Python"
    return f"files of the user's own ({corpus.source})"


def corpus_licence(corpus: Text) -> str:
    """The licence of a corpus, or where to find it."""
    if isinstance(corpus, MixedCorpus):
        return "; ".join(f"{name}: {corpus_licence(one)}" for name, one in corpus.sources.items())
    if isinstance(corpus, MicroworldCorpus):
        return "Apache 2.0, as the harness that generates it"
    if isinstance(corpus, HubCorpus):
        return f"see the card of {corpus.path}"
    if isinstance(corpus, TaskCorpus):
        return "that of the task's data"
    if isinstance(corpus, StdlibCorpus):
        return "PSF-2.0"
    return "that of the user's files"


def step_line(step: Step) -> str:
    """A run of continued pretraining: text, objective, length and final loss."""
    text = "text that is no longer in the store" if step.text is None else corpus_line(step.text)
    figures = [
        f"{step.metrics[name]:,.0f} {unit}"
        for name, unit in (("steps", "updates"), ("tokens", "tokens"))
        if name in step.metrics
    ]
    loss = step.metrics.get("validation_loss")
    figures += [] if loss is None else [f"held-out loss {loss:.4g}"]
    parts = [f"{text}{f' ({step.task})' if step.task else ''}", step.run.objective.formula]
    return "; ".join([*parts, *figures])


def checkpoint_name(name: str) -> str:
    """A checkpoint's id on the Hub, or the last part of a folder's path."""
    on_hub = HUB_NAME.fullmatch(name) and not files.is_folder(name)
    return name if on_hub else Path(name).name


def recipe_changes(run: Pretrain) -> list[str]:
    """Dotted names of the fields that differ from the recipe at the size of the run."""
    default = resolve_pretrain({"recipe": run.recipe, "size": run.size.model_dump()})
    first, second = dict(flat_fields("", run)), dict(flat_fields("", default))
    paths = [path[1:] for path in {**first, **second} if first.get(path) != second.get(path)]
    return list(dict.fromkeys(p.split(".")[0] if p.startswith(WHOLE) else p for p in paths))


def recipe_line(name: str) -> str:
    """The source of a recipe as a sentence."""
    source = recipe_source(name)
    return f"Recipe {source}." if source else f"Recipe {name} of a plug-in."
