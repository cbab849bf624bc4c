"""Answers in the prompts of tasks as training targets: of instruction and preference tuning.

Shapes: B items, R rows, U target tokens, M target tokens of a batch, H hidden size, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedTokenizerFast

from harness.finetuning.adaptation import Adaptation
from harness.finetuning.heads.head import TaskHead
from harness.finetuning.heads.text_model import TextModel
from harness.finetuning.inputs import Batch, Encoded, Ragged
from harness.finetuning.prompting import SPECIAL_TOKENS, Prompter
from harness.finetuning.protocol import Protocol
from harness.finetuning.task_model import TaskModel, without_dropout
from harness.models.backbone import Backbone
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.scoring.requests import Text, make_requests
from harness.tasks.examples import Examples
from harness.tasks.task import Task

PREFERENCE_ROWS = 2
"""Rows of a preference: the chosen and the rejected answer."""


class PromptAnswers(TaskHead):
    """The prompt of a task with the right answer; the loss is that of the answer alone (Wei et al.
    2022, section 2).

    The targets are the tokens whose likelihood decides between answers when the task is prompted:
    the answer, what follows it in the pattern, and the end of the text; of an encoder-decoder that
    fills gaps, the answer and the token that ends it. The text before the answer is only read.
    """

    def __init__(
        self,
        task: Task,
        protocol: Protocol,
        tokenizer: PreTrainedTokenizerFast,
        objective: Objective,
    ) -> None:
        """For `objective`, of the network, see `harness.pretraining.scoring.requests`.

        Raises:
            ValueError: two classes have the same tokens.
        """
        super().__init__(task, protocol, tokenizer)
        self.objective, self.vocabulary = objective, Vocabulary.of(tokenizer)
        assert task.prompt is not None
        self.most = protocol.max_sequence_length - SPECIAL_TOKENS
        self.prompter = Prompter(task, task.prompt, tokenizer, self.most)
        self.prompter.check_answers()

    def encode(self, examples: Examples) -> Encoded:
        """A row for each answer of `shown`; `targets` and `positions` have one row for each, with
        the target tokens and the places of those in the loss."""
        texts = [self.prompter.texts(examples, row) for row in range(len(examples))]
        rows = [
            [self._row(some[answer]) for answer in self.shown(int(label), len(some), row)]
            for row, (some, label) in enumerate(zip(texts, examples.labels, strict=True))
        ]
        sources, targets, scored = zip(*(one for some in rows for one in some), strict=True)
        full = [max(len(text.tokens) for text in some) == self.most for some in texts]
        return Encoded(
            Ragged.of(sources),
            Ragged.of([[0] * len(source) for source in sources]),
            Ragged.of(targets),
            float(np.mean(full)),
            first_rows=np.cumsum([0, *map(len, rows)]),
            positions=Ragged.of(scored),
        )

    def shown(self, label: int, num_answers: int, row: int) -> Sequence[int]:
        """Answers that an example is trained on."""
        return (label,)

    def _row(self, text: Text) -> tuple[list[int], list[int], list[int]]:
        """Source and target tokens, and the places in the target that have a loss."""
        assert text.gap is not None
        (request,) = make_requests(text, self.objective, self.vocabulary)
        source, target, scored = request.source, request.continuation, request.positions
        if self.objective.representation != "encoder_decoder":  # one row, read up to the answer
            read = len(target) - (len(text.tokens) - text.gap[0] + 1)
            source, target = [*source, *target[:read]], target[read:]
            scored = list(range(len(target)))
        return source, target, scored

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        """`target_ids`, `target_mask` and `scored`, the tokens with a loss, each [R, U]."""
        assert isinstance(data.targets, Ragged) and data.positions is not None
        rows = data.rows(items)
        lengths = data.targets.lengths[rows]
        ids = np.full((len(rows), int(lengths.max())), self.pad_token_id, dtype=np.int64)
        scored = np.zeros(ids.shape, dtype=bool)
        for place, row in enumerate(rows):
            ids[place, : lengths[place]] = data.targets[row]
            scored[place, data.positions[row]] = True
        mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
        given = {"target_ids": ids, "target_mask": mask, "scored": scored}
        return {name: torch.from_numpy(value) for name, value in given.items()}

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Mean cross-entropy of logits [M, V] over the tokens with a loss."""
        return -_answer_likelihoods(outputs, batch).sum() / batch["scored"].sum()

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The backbone with its own token head."""
        return TextModel(backbone, self.protocol, self.vocabulary.sep, self.pad_token_id)

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] log-likelihood of the answer of each item, in nats, from logits [M, V]."""
        return list(_answer_likelihoods(outputs, batch).cpu().numpy())


@dataclass(frozen=True)
class Preferences(Encoded):
    """Items of two rows: the chosen and the rejected answer."""

    reference: np.ndarray = field(kw_only=True)
    """[num_items, 2] their log-likelihoods under the reference network, float32."""


class WithoutDropout(TextModel):
    """A network that is trained in evaluation mode."""

    def states(self, batch: Batch) -> list[Tensor]:
        """[M, H] states that predict the target tokens."""
        without_dropout(self.backbone)
        return super().states(batch)


class PreferredAnswers(PromptAnswers):
    """The right answer and a wrong one in the prompt of a task: the loss of direct preference
    optimisation (Rafailov et al. 2023, equation 7).

    Network and reference have no dropout, as in eric-mitchell/direct-preference-optimization,
    train.py, so that the loss begins at log 2.
    """

    def __init__(
        self,
        task: Task,
        protocol: Protocol,
        tokenizer: PreTrainedTokenizerFast,
        objective: Objective,
        beta: float,
        rejected_seed: int,
    ) -> None:
        super().__init__(task, protocol, tokenizer, objective)
        self.beta, self.rejected_seed = beta, rejected_seed

    def shown(self, label: int, num_answers: int, row: int) -> Sequence[int]:
        """The right answer, and one of the others by the seed and the number of the example.

        Raises:
            ValueError: there is no other.
        """
        if num_answers < PREFERENCE_ROWS:
            raise ValueError(
                f"preferences need a wrong answer, but example {row} of {self.task.name} has none"
            )
        rng = np.random.default_rng([self.rejected_seed, row])
        return label, (label + int(rng.integers(1, num_answers))) % num_answers

    def labels(self, data: Encoded, items: np.ndarray, batch: Batch) -> Batch:
        """As of prompts; and `reference` [B, 2], once it is known."""
        known = {}
        if isinstance(data, Preferences):
            known["reference"] = torch.from_numpy(data.reference[items])
        return super().labels(data, items, batch) | known

    def make_model(self, backbone: Backbone, adaptation: Adaptation) -> TaskModel:
        """The backbone with its own token head, without dropout."""
        return WithoutDropout(backbone, self.protocol, self.vocabulary.sep, self.pad_token_id)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Scalar mean loss, from logits [M, V]."""
        found = _answer_likelihoods(outputs, batch).view(-1, PREFERENCE_ROWS)
        return preference_loss(found, batch["reference"], self.beta)

    def decode(self, outputs: Tensor, batch: Batch) -> Sequence[Any]:
        """[B] log-likelihoods [2] of the chosen and the rejected answer, from logits [M, V]."""
        found = _answer_likelihoods(outputs, batch).view(-1, PREFERENCE_ROWS)
        return list(found.cpu().numpy())


def preference_loss(found: Tensor, reference: Tensor, beta: float) -> Tensor:
    """Scalar mean of - log sigmoid(beta (r_chosen - r_rejected)), with r the log-ratio of network
    and reference (Rafailov et al. 2023, equation 7).

    Args:
        found: [B, 2] log-likelihoods of the chosen and the rejected answer.
        reference: [B, 2] those of the reference.
    """
    chosen, rejected = (found - reference).unbind(1)
    return -F.logsigmoid(beta * (chosen - rejected)).mean()


def _answer_likelihoods(outputs: Tensor, batch: Batch) -> Tensor:
    """[R] log-likelihood of the scored tokens of each row, from logits [M, V]."""
    mask = batch["target_mask"].bool()
    losses = F.cross_entropy(outputs.float(), batch["target_ids"][mask], reduction="none")
    of_rows = torch.zeros(mask.shape, device=losses.device).masked_scatter(mask, losses)
    return -(of_rows * batch["scored"]).sum(1)
