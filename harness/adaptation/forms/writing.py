"""Tasks answered in words: every kind as text to text (Raffel et al. 2020, section 2.4).

Shapes: B examples, U target tokens, M target tokens of a batch, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedTokenizerFast

from harness.adaptation import Protocol
from harness.adaptation.forms import verbalising
from harness.adaptation.forms.form import Form
from harness.adaptation.inputs import Batch, Encoded, Ragged
from harness.adaptation.model import TaskModel
from harness.adaptation.writer import Writer
from harness.models.backbone import Backbone
from harness.tasks.loading import Examples
from harness.tasks.task import Task

Tokens = list[int]
DIGITS = "0 1 2 3 4 5 6 7 8 9"


class Writing(Form):
    """Source and target as `verbalising` puts them; the first right text is trained on.

    Sources stand between the tokenizer's first and last token, and lose tokens from the end of
    their longest part if they are too long; targets end with the last token.
    """

    def __init__(self, task: Task, protocol: Protocol, tokenizer: PreTrainedTokenizerFast) -> None:
        super().__init__(task, protocol, tokenizer)
        self.start, self.end = int(tokenizer.cls_token_id), int(tokenizer.sep_token_id)
        # The embedded world has no digits: its WordPiece and Unigram write letters in their place.
        self.has_digits = verbalising.normalise(self._spelled(DIGITS)) == DIGITS

    @property
    def num_outputs(self) -> int:
        return len(self.tokenizer)

    def encode(self, examples: Examples) -> Encoded:
        choices = _choices(examples)
        sources = [
            verbalising.source(self.task, texts, some)
            for texts, some in zip(examples.texts, choices, strict=True)
        ]
        targets = [
            self._target(label, some) for label, some in zip(examples.labels, choices, strict=True)
        ]
        room = self.protocol.max_sequence_length - 2
        fitted = [fit(parts, room) for parts in self._tokens_of_parts(sources)]
        rows = [[self.start, *tokens, self.end] for tokens, _ in fitted]
        cut = np.array([was_cut for _, was_cut in fitted])
        most = self.protocol.max_target_length - 1
        ends = [[*tokens[:most], self.end] for tokens in self._tokens(targets)]
        types = [[0] * len(row) for row in rows]
        return Encoded(Ragged.of(rows), Ragged.of(types), Ragged.of(ends), float(cut.mean()))

    def _target(self, label: Any, choices: Sequence[str] | None) -> str:
        text = verbalising.target(self.task, label, choices)
        if self.task.kind == "regression" and not self.has_digits:
            return text.translate(verbalising.LETTERS)
        return text

    def _tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text, without special ones."""
        tokens: list[Tokens] = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        return tokens

    def _tokens_of_parts(self, sources: Sequence[Sequence[str]]) -> list[list[Tokens]]:
        """Part by part, which gives the same tokens as the whole: words are cut one by one."""
        tokens = iter(self._tokens([part for parts in sources for part in parts]))
        return [[next(tokens) for _ in parts] for parts in sources]

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        """`target_ids` and `target_mask` [B, U]."""
        assert isinstance(data.targets, Ragged)
        rows = [torch.from_numpy(data.targets[item].astype(np.int64)) for item in items]
        padded = torch.nn.utils.rnn.pad_sequence(
            rows, batch_first=True, padding_value=self.pad_token_id
        )
        lengths = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(padded.shape[1]) < lengths[:, None]).long()
        return {"target_ids": padded, "target_mask": mask}

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy over the target tokens, the end included, of logits [M, V]."""
        right = batch["target_ids"][batch["target_mask"].bool()]
        return F.cross_entropy(outputs.float(), right)

    def make_model(self, backbone: Backbone, adaptation: str) -> TaskModel:
        """The network with its own token head.

        Raises:
            ValueError: it is frozen, or writes no text.
        """
        if adaptation == "frozen":
            raise ValueError(
                f"{self.task.name} is answered in words, which a frozen model cannot learn; set "
                "evaluate.adaptation to full"
            )
        return Writer(backbone, self.protocol, self.end, self.pad_token_id)

    def respond(self, model: TaskModel, batch: Batch) -> Sequence[Any]:
        assert isinstance(model, Writer)
        return self.read(model.write(batch), batch)

    def read(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] tokens before the end, of what was written [B, U]; of special tokens only those for
        unknown words stay, by which names of classes may differ."""
        special = set(self.tokenizer.all_special_ids) - {self.tokenizer.unk_token_id}
        return [
            [token for token in row[: _end(row, self.end)] if token not in special]
            for row in outputs.tolist()
        ]

    def answers(self, read: Sequence[Any], data: Encoded, examples: Examples) -> np.ndarray:
        kind = self.task.kind
        if kind == "tagging":
            names = self._tokens(self._distinct(self.task.labels))
            spelled = [tuple(name) for name in names]
            return _objects(
                [
                    verbalising.tags_of(tokens, spelled, len(words))
                    for tokens, words in zip(read, examples.texts, strict=True)
                ]
            )
        if kind in ("extraction", "generation"):
            return _objects([self._decoded(tokens, skip_special_tokens=True) for tokens in read])
        return np.array(self._numbers([self._decoded(t) for t in read], examples), np.float64)

    def _numbers(self, texts: Sequence[str], examples: Examples) -> list[float]:
        """Classes, values or choices."""
        if self.task.kind == "classification":
            names = [self._spelled(n) for n in self._distinct(verbalising.class_names(self.task))]
            return [verbalising.place_of(text, names) for text in texts]
        if self.task.kind == "regression":
            return [self._value(text) for text in texts]
        assert examples.choices is not None
        spelled = [[self._spelled(c.lower()) for c in some] for some in examples.choices]
        both = zip(texts, spelled, strict=True)
        return [verbalising.choice_of(text, choices) for text, choices in both]

    def _value(self, text: str) -> float:
        return verbalising.value_of(
            text if self.has_digits else verbalising.normalise(text).translate(verbalising.DIGITS)
        )

    def _distinct(self, names: Sequence[str]) -> Sequence[str]:
        """The names.

        Raises:
            ValueError: the tokenizer writes two of them alike.
        """
        seen: dict[tuple[int, ...], str] = {}
        for name, tokens in zip(names, self._tokens(names), strict=True):
            other = seen.setdefault(tuple(tokens), name)
            if other is not name or not tokens:
                raise ValueError(
                    f"{self.task.name} cannot be answered in words, for the tokenizer writes "
                    f"{other!r} and {name!r} alike"
                )
        return names

    def _spelled(self, text: str) -> str:
        """A text as the tokenizer gives it back."""
        return self._decoded(self._tokens([text])[0])

    def _decoded(self, tokens: Tokens, skip_special_tokens: bool = False) -> str:
        text = self.tokenizer.decode(
            tokens, skip_special_tokens=skip_special_tokens, clean_up_tokenization_spaces=False
        )
        return str(text).strip()


def fit(parts: Sequence[Tokens], room: int) -> tuple[Tokens, bool]:
    """The parts one after the other in at most `room` tokens, cut at the end of whichever is the
    longest; and whether they were cut."""
    lengths = [len(part) for part in parts]
    over = sum(lengths) - room
    was_cut = over > 0
    while over > 0:
        longest = int(np.argmax(lengths))
        others = [length for i, length in enumerate(lengths) if i != longest]
        less = min(over, max(1, lengths[longest] - max(others, default=0)))
        lengths[longest] -= less
        over -= less
    return [t for part, n in zip(parts, lengths, strict=True) for t in part[:n]], was_cut


def _choices(examples: Examples) -> Sequence[tuple[str, ...] | None]:
    return examples.choices or [None] * len(examples)


def _end(row: Tokens, end: int) -> int:
    return row.index(end) if end in row else len(row)


def _objects(values: Sequence[Any]) -> np.ndarray:
    """[num_values] as they are, even where each is a tuple."""
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array
