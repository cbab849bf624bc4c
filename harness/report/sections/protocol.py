"""Sections on what all arms share: the fine-tuning protocol, and vocabularies."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from harness.analysis.frames.vocabularies import vocabularies_frame
from harness.analysis.results import Results
from harness.leaderboard.cells import number_cell
from harness.leaderboard.text_tables import TextTable
from harness.plan.protocol import protocol_of
from harness.report.layout import Section

PROTOCOL_NOTE = (
    "How every arm is fine-tuned and scored. Of searched settings, the table has what was tried."
)
VOCABULARY_NOTE = (
    "Entries of each vocabulary, special tokens included. A small corpus yields fewer entries than "
    "declared. Parameters are those of the network with the learned vocabulary, without heads."
)


def protocol_section(results: Results) -> Section:
    """The protocol as a table."""
    rows = [[name, "none" if value is None else str(value)] for name, value in _flat(results)]
    table = TextTable(["setting", "value"], rows, text_columns=(0, 1))
    return Section("Protocol", [PROTOCOL_NOTE], tables={"": table})


def _flat(results: Results) -> Iterator[tuple[str, Any]]:
    for name, value in protocol_of(results.plan).items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{part}", inner) for part, inner in value.items())
        else:
            yield name, value


def vocabulary_section(results: Results) -> Section | None:
    """Declared and learned sizes of the vocabularies."""
    frame = results.get(vocabularies_frame)
    if frame.empty:
        return None
    head = ["arm", "tokenizer", "declared entries", "learned entries", "parameters"]
    rows = [
        [arm, tokenizer, *map(_count, counts)]
        for arm, tokenizer, *counts in frame.astype(object).to_numpy().tolist()
    ]
    seeds = results.experiment.seeds
    of_world = [f"They are those of world {seeds.pretrain[0]}."] if seeds.in_worlds else []
    notes = [" ".join([VOCABULARY_NOTE, *of_world])]
    return Section("Vocabularies", notes, tables={"": TextTable(head, rows, (0, 1))})


def _count(number: float | None) -> str:
    return number_cell(None if pd.isna(number) else number, "{:,.0f}")
