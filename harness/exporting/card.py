"""The model card of an exported network: README.md with what made it, its scores and its limits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from harness.budget import FLOPS_CONVENTION
from harness.corpora import Corpus
from harness.corpora.sources import HubCorpus, MicroworldCorpus
from harness.leaderboard.rendering import markdown_escape, markdown_table
from harness.plan import pretraining_cost
from harness.provenance import provenance
from harness.recipes import RECIPES, Pretrain

Rows = Sequence[Sequence[str]]
SOFTWARE = "Pretraining harness, the software that made this model."
SMALL = 100_000_000
"""Parameters below which a network is called small."""


@dataclass(frozen=True)
class Scores:
    """What an experiment says of the network."""

    experiment: str
    question: str
    suite: str
    rows: Rows
    """Task, split, metric, score, number of fine-tuning seeds."""
    protocol: str
    citation: str


@dataclass(frozen=True)
class Card:
    """What a card is made of."""

    name: str
    run: Pretrain
    recipe: str | None
    """Null where the store does not say which one it was."""
    seed: int
    key: str
    metrics: Mapping[str, float]
    """Of the pretraining stage."""
    notes: Sequence[str] = ()
    scores: Scores | None = None
    provenance: Mapping[str, str] = field(default_factory=provenance)


def write_card(card: Card, out: Path) -> None:
    """Writes `out`/README.md."""
    (out / "README.md").write_text(render(card), encoding="utf-8")


def render(card: Card) -> str:
    """The card as markdown, with the fields that the Hub reads above."""
    import jinja2

    environment = jinja2.Environment(  # markdown, escaped by `md`
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=False,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template("README.md.jinja").render(
        _content(card), md=markdown_escape, yaml=json.dumps, table=_table
    )


def _content(card: Card) -> dict[str, object]:
    scores = card.scores
    return {
        "title": card.name,
        "summary": _summary(card),
        "family": card.run.model.family,
        "licence_id": "apache-2.0" if isinstance(card.run.corpus, MicroworldCorpus) else "other",
        "notes": list(card.notes),
        "training": [("", ""), *_training(card)],
        "flops_convention": "" if card.run.model.checkpoint else FLOPS_CONVENTION,
        "scores": [HEAD, *scores.rows] if scores and scores.rows else [],
        "experiment": scores.experiment if scores else "",
        "question": scores.question if scores else "",
        "suite": scores.suite if scores else "",
        "protocol": scores.protocol if scores else "",
        "no_scores": "None: nothing that was fine-tuned from this network is finished in the "
        "experiment."
        if scores
        else "None here: export by the experiment's file to have its scores.",
        "limits": _limits(card),
        "citation": _citation(card),
        "provenance": [("", ""), ("stage", card.key), *card.provenance.items()],
    }


HEAD = ("task", "split", "metric", "score", "seeds")


def _table(rows: Rows) -> str:
    head, *body = rows
    return "\n".join(markdown_table(head, body, text_columns=range(len(head))))


def _summary(card: Card) -> str:
    run = card.run
    if run.model.checkpoint:
        return f"{run.model.checkpoint}, imported without training."
    size = run.size
    return (
        f"A {run.model.family} of {size.num_layers} layers of width {size.hidden_size}, "
        f"pretrained from pretraining seed {card.seed}"
        f"{f' by the recipe {card.recipe}' if card.recipe else ''}."
    )


def _training(card: Card) -> list[tuple[str, str]]:
    run, cost, told = card.run, pretraining_cost(card.run), card.metrics
    if run.model.checkpoint:
        rows = [
            ("checkpoint", run.model.checkpoint),
            ("revision", run.model.revision or "none pinned"),
        ]
        return [*rows, ("licence", "that of the checkpoint")]
    figures = {
        "parameters": cost.parameters,
        "updates": told.get("steps"),
        "tokens read": told.get("tokens"),
    }
    rows = [
        ("recipe", card.recipe or "not recorded with the stage"),
        ("objective", run.objective.formula),
        ("corpus", corpus_line(run.corpus)),
        ("licence of the corpus", corpus_licence(run.corpus)),
        ("tokenizer", f"{run.tokenizer.algorithm}, {run.tokenizer.vocab_size:,} entries"),
        *((name, f"{value:,.0f}") for name, value in figures.items() if value is not None),
        *([("FLOPs", f"{cost.flops:.3g}")] if cost.flops is not None else []),
    ]
    losses = {n: v for n, v in told.items() if n.startswith("validation_")}
    return rows + [
        (f"held-out {n.removeprefix('validation_').replace('_', ' ')}", f"{v:.4g}")
        for n, v in losses.items()
    ]


def corpus_line(corpus: Corpus) -> str:
    """A corpus in words; files of one's own without where they lie."""
    if isinstance(corpus, MicroworldCorpus):
        part = f", domain {corpus.domain}" if corpus.domain else ""
        return f"microworld, the harness's generated English: {corpus.num_tokens:,} words{part}"
    if isinstance(corpus, HubCorpus):
        config = f"/{corpus.config}" if corpus.config else ""
        return (
            f"{corpus.path}{config} of the Hugging Face Hub, commit {corpus.revision or 'latest'}"
        )
    return f"files of the user's own ({corpus.source})"


def corpus_licence(corpus: Corpus) -> str:
    """Its licence, or where that is said."""
    if isinstance(corpus, MicroworldCorpus):
        return "Apache 2.0, as the harness that makes it"
    if isinstance(corpus, HubCorpus):
        return f"see the card of {corpus.path}"
    return "known to the owner of the files"


def _limits(card: Card) -> list[str]:
    run = card.run
    limits = [f"It has read inputs of at most {max(p.sequence_length for p in run.phases)} tokens."]
    if run.model.checkpoint:
        limits = ["What holds of the checkpoint holds here."]
    parameters = pretraining_cost(run).parameters or 0
    if 0 < parameters < SMALL:
        limits.append(f"It is small ({parameters:,} parameters): no basis for a product.")
    if not run.model.checkpoint and not card.metrics.get("steps"):
        limits.append("It was not trained: its weights are the initial ones.")
    if isinstance(run.corpus, MicroworldCorpus) and not run.model.checkpoint:
        limits.append("It knows nothing but a generated world: of real English, next to nothing.")
    return [*limits, "Nobody has examined it for biases or harm."]


def _citation(card: Card) -> list[str]:
    lines = [card.scores.citation] if card.scores and card.scores.citation else []
    recipe = [recipe_source(card.recipe)] if card.recipe in RECIPES else []
    return [*recipe, *(f"Suite: {line}" for line in lines), SOFTWARE]


def recipe_source(name: str) -> str:
    """Where a recipe comes from: the first sentence of its file."""
    module = {"electra_mlm": "electra"}.get(name, name)
    text = import_module(f"harness.recipes.{module}").__doc__ or ""
    return f"Recipe {' '.join(text.split())}"
