"""A batch as text: what the network reads, and what it predicts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from harness.pretraining.objectives.batches import MadeBatch
from harness.pretraining.objectives.micro_batches import cut
from harness.pretraining.objectives.targets import Batch, count_real
from harness.pretraining.objectives.vocabulary import Vocabulary

Role = Literal["plain", "special", "chosen", "changed"]
"""`special`: [CLS] and the like; `chosen`: a token that the transform masks, changes or moves;
`changed`: in the input, a token that is not that of the text."""


@dataclass(frozen=True)
class Token:
    """A token of the vocabulary."""

    text: str
    role: Role = "plain"


@dataclass(frozen=True)
class ShownRow:
    """A sequence of a batch, without padding."""

    text: list[Token]
    """Before the transform."""
    inputs: list[Token]
    """After it: what the network, or its encoder, reads."""
    targets: list[Token]
    """What it predicts, in the order of its outputs; of neighbouring sentences, the next one."""
    pair: int | None = None
    """Label of the sentence pair."""
    previous: list[Token] | None = None
    """Of neighbouring sentences, the previous one."""

    @property
    def is_whole(self) -> bool:
        """False of a sentence without a neighbour on one side."""
        return self.previous is None or bool(self.previous and self.targets)

    @property
    def parts(self) -> dict[str, list[Token]]:
        """`text`, `input` unless its tokens are those of the text, and `target`; a sentence as
        `text`, with the sentences `before` and `after` it."""
        if self.previous is not None:
            return {"text": self.text, "before": self.previous, "after": self.targets}
        is_changed = [one.text for one in self.text] != [one.text for one in self.inputs]
        inputs = {"input": self.inputs} if is_changed else {}
        return {"text": self.text, **inputs, "target": self.targets}


Names = Callable[[Sequence[int]], list[str]]
"""Ids to the texts of tokens."""


def shown_rows(made: MadeBatch, vocabulary: Vocabulary, names: Names) -> list[ShownRow]:
    """The sequences of a batch, in its order; of neighbouring sentences, single ones."""
    if made.objective.output.kind == "neighbour_sentences":
        return _shown_sentences(made.batch, vocabulary, names)
    rows, result, batch = made.rows, made.transformed, made.batch
    targets = _targets(made)
    pairs = batch.get("pair_label")
    found = []
    for row, length in enumerate(rows.lengths):
        text, chosen = rows.tokens[row, :length], result.chosen[row, :length]
        inputs = result.inputs[row, : result.lengths[row]]
        changed = inputs != text if result.aligned else vocabulary.special[inputs]
        found.append(
            ShownRow(
                _tokens(text, chosen, "chosen", vocabulary, names),
                _tokens(inputs, changed, "changed", vocabulary, names),
                _tokens(
                    targets[row], np.zeros(len(targets[row]), bool), "plain", vocabulary, names
                ),
                None if pairs is None else int(pairs[row]),
            )
        )
    return found


def _shown_sentences(batch: Batch, vocabulary: Vocabulary, names: Names) -> list[ShownRow]:
    def plain(ids: np.ndarray) -> list[Token]:
        return _tokens(ids, np.zeros(len(ids), bool), "plain", vocabulary, names)

    rows = [cut(batch, row, row + 1) for row in range(len(batch["input_ids"]))]
    texts = [plain(row["input_ids"][0, : count_real(row)]) for row in rows]
    return [
        ShownRow(text, text, plain(row["targets"]), previous=plain(row["previous_targets"]))
        for text, row in zip(texts, rows, strict=True)
    ]


def _targets(made: MadeBatch) -> list[np.ndarray]:
    """The tokens that each row predicts."""
    batch = made.batch
    outputs = batch.get("decoder_input_ids", batch.get("predicted", batch["input_ids"]))
    row = batch["positions"] // outputs.shape[1]
    return [batch["targets"][row == number] for number in range(len(made.rows.lengths))]


def _tokens(
    ids: np.ndarray, marked: np.ndarray, role: Role, vocabulary: Vocabulary, names: Names
) -> list[Token]:
    special = vocabulary.special[ids]
    return [
        Token(name, role if is_marked else "special" if is_special else "plain")
        for name, is_marked, is_special in zip(names(ids.tolist()), marked, special, strict=True)
    ]
