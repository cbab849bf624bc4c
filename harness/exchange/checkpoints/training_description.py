"""The training of a network, as rows of its model card."""

from harness.exchange.checkpoints.card import Card
from harness.exchange.checkpoints.descriptions import (
    checkpoint_name,
    corpus_licence,
    corpus_line,
    recipe_changes,
    step_line,
)
from harness.plan.costs import pretraining_cost
from harness.pretraining.recipes import RECIPES


def training_rows(card: Card) -> list[tuple[str, str]]:
    """(name, value) of everything that determined the network."""
    rows = _of_checkpoint(card) if card.run.model.checkpoint else _of_run(card)
    steps = enumerate(card.steps, 1)
    return rows + [(f"continued pretraining {n}", step_line(step)) for n, step in steps]


def _of_checkpoint(card: Card) -> list[tuple[str, str]]:
    model = card.run.model
    return [
        ("checkpoint", checkpoint_name(str(model.checkpoint))),
        ("revision", model.revision or "none pinned"),
        *([("parameters", f"{card.parameters:,}")] if card.parameters else []),
        ("licence", "that of the checkpoint"),
    ]


def _of_run(card: Card) -> list[tuple[str, str]]:
    run, cost, metrics = card.run, pretraining_cost(card.run), card.metrics
    figures = {
        "parameters": parameters(card),
        "updates": metrics.get("steps"),
        "tokens": metrics.get("tokens"),
    }
    rows = [
        ("recipe", _recipe(card)),
        ("objective", run.objective.formula),
        ("corpus", corpus_line(run.corpus)),
        ("licence of the corpus", corpus_licence(run.corpus)),
        ("tokenizer", f"{run.tokenizer.algorithm}, up to {run.tokenizer.vocab_size:,} entries"),
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
    changes = recipe_changes(card.run)
    return f"{card.recipe}, with changes to: {', '.join(changes)}" if changes else card.recipe


def parameters(card: Card) -> int | None:
    """Number of parameters: of the files, or as declared before they are written.

    The tokenizer may have fewer entries than declared.
    """
    return card.parameters or pretraining_cost(card.run).parameters
