"""Columns of a table beside its scores: losses, perplexity, costs, and other quantities."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.frames.adaptation import trained_parameters
from harness.analysis.frames.quantities import quantity_values
from harness.analysis.recording import RECORDED
from harness.analysis.results import Results
from harness.core.config import unknown_name
from harness.experiment.outcomes import QUANTITIES, Quantity

PERPLEXITY = "perplexity"
COLUMNS: Mapping[str, Quantity] = {
    PERPLEXITY: Quantity("held-out perplexity", unit=""),
    **QUANTITIES,
}
"""Name of a column to what it shows. Of the perplexity, `expect` knows the logarithm: the loss."""
OF_STORES = (PERPLEXITY, *RECORDED)
"""The columns of boards over a store."""
SAME_TARGETS = (
    "compares only arms with the same objective, vocabulary and held-out text; masked models "
    "predict other tokens than causal ones"
)
NOTES: Mapping[str, str] = {
    PERPLEXITY: f"exp of the mean cross-entropy per predicted token; {SAME_TARGETS}",
    "loss": SAME_TARGETS,
    "trained_parameters": "those updated by fine-tuning, including a new head, mean over tasks",
    "bits_per_byte": "of left-to-right models; compares vocabularies, too, on the same text",
}


@dataclass(frozen=True)
class QuantityColumn:
    """A column after the seeds."""

    name: str
    """In files: `bits_per_byte`."""
    head: str
    values: Mapping[str, np.ndarray]
    """Row to its values, [num_seeds], or [1] of what is counted; without rows that have none."""
    note: str
    """For below the table; may be empty."""
    is_counted: bool = False
    """Whether the value is the same in every run."""

    def mean(self, row: str) -> float | None:
        """The mean over pretraining seeds; null if it is unknown."""
        return float(self.values[row].mean()) if row in self.values else None

    def deviation(self, row: str) -> float | None:
        """The sample standard deviation over pretraining seeds; null for less than two."""
        values = self.values.get(row, ())
        return float(np.std(values, ddof=1)) if len(values) > 1 else None


def experiment_quantities(results: Results, names: Sequence[str]) -> tuple[QuantityColumn, ...]:
    """The columns of an experiment's table; that of the trained parameters is always there if its
    arms are adapted in different ways.

    Args:
        names: in COLUMNS.

    Raises:
        ValueError: an unknown name.
    """
    _check(names, COLUMNS)
    wanted = [*names, *(["trained_parameters"] if results.get(trained_parameters) else [])]
    sources = dict.fromkeys(map(_source, wanted))
    return _columns(wanted, {name: quantity_values(results, name) for name in sources})


def board_quantities(
    rows: Mapping[str, Mapping[str, Sequence[float]]], names: Sequence[str]
) -> tuple[QuantityColumn, ...]:
    """The columns of a board over a store.

    Args:
        rows: row to quantity to its values, as `recorded_quantities` returns them.
        names: in OF_STORES.

    Raises:
        ValueError: an unknown name.
    """
    _check(names, OF_STORES)
    sources = dict.fromkeys(map(_source, names))
    found = {
        name: {row: np.array(of[name], float) for row, of in rows.items() if name in of}
        for name in sources
    }
    return _columns(names, found)


def _check(names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ValueError(unknown_name("--quantity", name, known))


def _source(name: str) -> str:
    """The quantity from which a column is computed."""
    return "loss" if name == PERPLEXITY else name


def _columns(
    names: Sequence[str], values: Mapping[str, Mapping[str, np.ndarray]]
) -> tuple[QuantityColumn, ...]:
    return tuple(
        QuantityColumn(
            name,
            COLUMNS[name].label,
            {
                row: np.exp(own) if name == PERPLEXITY else own
                for row, own in values[_source(name)].items()
            },
            _note(name),
            COLUMNS[name].is_counted,
        )
        for name in dict.fromkeys(names)
    )


def _note(name: str) -> str:
    """What the values are and what they compare; empty if the head says all."""
    quantity = COLUMNS[name]
    unit = f"in {quantity.unit}, " if quantity.unit else ""
    spread = f"{unit}mean ± standard deviation over pretraining seeds"
    details = [
        *([] if quantity.is_counted else [spread]),
        *([NOTES[name]] if name in NOTES else []),
    ]
    title = f"{quantity.label[0].upper()}{quantity.label[1:]}"
    return f"{title}: {'; '.join(filter(None, details))}." if any(details) else ""
