"""Texts, recipes and checkpoints in the words of a model card, without local paths."""

import re
from importlib import import_module
from pathlib import Path

from harness.data.corpora.sources import HubCorpus, MicroworldCorpus, TaskCorpus
from harness.exchange.checkpoints.history import Step, Text
from harness.experiment.recipe_defaults import resolve_pretrain
from harness.models.checkpoints import files
from harness.plan.contract import flat_fields
from harness.pretraining.recipes.pretrain import Pretrain

HUB_NAME = re.compile(r"\w[\w.-]*(/[\w.-]+)?")
WHOLE = ("corpus", "budget", "init_from", "teacher")
"""Fields of a run that are named as a whole if anything within them differs."""


def corpus_line(corpus: Text) -> str:
    """A corpus in words; local files without their path."""
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
    return f"files of the user's own ({corpus.source})"


def corpus_licence(corpus: Text) -> str:
    """The licence of a corpus, or where to find it."""
    if isinstance(corpus, MicroworldCorpus):
        return "Apache 2.0, as the harness that generates it"
    if isinstance(corpus, HubCorpus):
        return f"see the card of {corpus.path}"
    if isinstance(corpus, TaskCorpus):
        return "that of the task's data"
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


def recipe_source(name: str) -> str:
    """The source of a recipe: the first sentence of its module's docstring."""
    module = {"electra_mlm": "electra"}.get(name, name)
    text = import_module(f"harness.pretraining.recipes.{module}").__doc__ or ""
    first, *_ = re.split(r"\.( (?=[A-Z])|$)", " ".join(text.split()))  # not after "et al."
    return f"Recipe {first}."
