"""The model card of an exported network: its training, scores and limits as README.md."""

import json
from pathlib import Path

from harness.exchange.checkpoints.card_data import Card, Rows
from harness.exchange.checkpoints.descriptions import (
    checkpoint_name,
    num_parameters,
    recipe_changes,
    recipe_line,
    training_rows,
)
from harness.leaderboard.markdown import markdown_escape, markdown_table
from harness.models.flops import FLOPS_CONVENTION
from harness.pretraining.recipes import RECIPES

SOFTWARE = "Pretraining harness, the software that made this model."
SMALL = 100_000_000
"""Parameters below which a network is called small."""


def write_card(card: Card, out: Path) -> None:
    """Writes `out`/README.md."""
    (out / "README.md").write_text(render(card), encoding="utf-8")


def render(card: Card) -> str:
    """The card as markdown, after the YAML metadata that the Hub reads."""
    import jinja2

    environment = jinja2.Environment(  # markdown, escaped by `md`
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=False,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template("README.md.jinja").render(
        _content(card), card=card, md=markdown_escape, yaml=json.dumps, table=_table
    )


def _content(card: Card) -> dict[str, object]:
    """What the template shows besides the card itself; tables with their heads."""
    made = [("made with", card.made_with)] if card.made_with else []
    written = [(f"card written with: {name}", value) for name, value in card.provenance.items()]
    return {
        "summary": _summary(card),
        "training": [("", ""), *training_rows(card)],
        "flops_convention": "" if card.run.model.checkpoint else FLOPS_CONVENTION,
        "score_head": ("task", "split", "metric", "score", "seeds"),
        "no_scores": "None: the experiment has no finished fine-tuning run of this network."
        if card.scores
        else "None here: see the report of the experiment."
        if card.steps or card.task_steps
        else "None here: export with the experiment file to include its scores.",
        "limits": _limits(card),
        "citation": _citation(card),
        "provenance": [("", ""), ("stage", card.key), *made, *written],
    }


def _table(rows: Rows) -> str:
    return "\n".join(markdown_table(rows[0], rows[1:], text_columns=range(len(rows[0]))))


def _summary(card: Card) -> str:
    run = card.run
    after = f", with {len(card.steps)} x continued pretraining" if card.steps else ""
    after += ", trained as a bi-encoder" if card.task_steps else ""
    if run.model.checkpoint:
        name = checkpoint_name(run.model.checkpoint)
        return f"{name}, imported{after or ' without further training'}."
    size, changed = run.size, card.recipe in RECIPES and recipe_changes(run)
    return (
        f"A {run.model.family} of {size.num_layers} layers of width {size.hidden_size}, "
        f"{'pretrained' if card.metrics.get('steps') else 'initialised'} with seed {card.seed}"
        f"{f' by the recipe {card.recipe}' if card.recipe else ''}"
        f"{' with changes' if changed else ''}{after}."
    )


def _limits(card: Card) -> list[str]:
    limits, count = [_limit_of_training(card)], num_parameters(card) or 0
    if 0 < count < SMALL:
        limits.append(f"It is small ({count:,} parameters): not suited to production.")
    if card.generated and not card.is_random:
        limits.append("It was trained on generated text only and knows little real English.")
    return [*limits, "It has not been examined for biases or harms."]


def _limit_of_training(card: Card) -> str:
    run = card.run
    if run.model.checkpoint:
        return "The limits of the original checkpoint apply."
    if card.is_random:
        return "It was not trained: its weights are random."
    if not card.is_trained:
        return "It was not trained beyond the weights that it starts from; all others are random."
    runs = [run, *(step.run for step in card.steps)]
    longest = max(phase.sequence_length for one in runs for phase in one.phases)
    return f"It was trained on inputs of at most {longest} tokens."


def _citation(card: Card) -> list[str]:
    lines = [card.scores.citation] if card.scores and card.scores.citation else []
    pretrained_here = card.recipe in RECIPES and not card.run.model.checkpoint
    recipe = [recipe_line(card.recipe)] if card.recipe and pretrained_here else []
    return [*recipe, *(f"Suite: {line}" for line in lines), SOFTWARE]
