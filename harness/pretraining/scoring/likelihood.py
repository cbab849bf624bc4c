"""Log-likelihood of texts under a pretrained network, whatever it was trained on.

Shapes: B questions, T tokens read, U tokens of a decoder, M tokens named, H hidden size.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.models.backbone import Backbone
from harness.models.static_embeddings import StaticVectors
from harness.pretraining.learners.learner import READ, gather
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.scoring.requests import Request, Text, default_objective, make_requests

MAX_TOKENS = 4_096
"""Positions that go through the network at once."""
TEXTS_AT_ONCE = 1_024
"""Texts whose questions are sorted by length together."""

ScoredBatch = tuple[int, Request]
"""Number of the text, and a question about it."""


@torch.no_grad()
def log_likelihoods(
    backbone: Backbone, vocabulary: Vocabulary, texts: Sequence[Text]
) -> np.ndarray:
    """[num_texts] nats: log-likelihoods or, of networks that name tokens in place,
    pseudo-log-likelihoods, as `harness.pretraining.scoring.requests.make_requests` says. Higher is
    likelier; scores of different networks are not to be compared."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    objective = objective_of(backbone, vocabulary)
    scores = np.zeros(len(texts))
    backbone.eval().to(device)
    for some in _batches(texts, objective, vocabulary):
        questions = [question for _, question in some]
        batch = _to_batch(questions, objective.representation, vocabulary, _start(backbone))
        batch = {name: tensor.to(device) for name, tensor in batch.items()}
        states = gather(_states(backbone, batch, objective.representation), batch["positions"])
        logits = backbone.token_logits(states).float()
        nats = F.cross_entropy(logits, batch["targets"], reduction="none").double().cpu().numpy()
        owners = [number for number, question in some for _ in question.named]
        np.subtract.at(scores, owners, nats)
    return scores


def objective_of(backbone: Backbone, vocabulary: Vocabulary) -> Objective:
    """What the network was trained on, the last of a mixture; guessed if it does not say."""
    if backbone.objective:
        return Objective.model_validate(backbone.objective)
    return default_objective(backbone.representation, vocabulary)


def _start(backbone: Backbone) -> int:
    """Token that a decoder's input starts with."""
    config = backbone.network.config
    start = getattr(config, "decoder_start_token_id", None)
    return int(config.pad_token_id or 0) if start is None else int(start)


def _batches(
    texts: Sequence[Text], objective: Objective, vocabulary: Vocabulary
) -> Iterator[list[ScoredBatch]]:
    """All questions, those of like length together, at most MAX_TOKENS positions at once."""
    for first in range(0, len(texts), TEXTS_AT_ONCE):
        some = enumerate(texts[first : first + TEXTS_AT_ONCE], first)
        asked = [(n, q) for n, text in some for q in make_requests(text, objective, vocabulary)]
        batch: list[ScoredBatch] = []
        for one in sorted(asked, key=lambda one: _length(one[1])):  # the next is never shorter
            if batch and (len(batch) + 1) * _length(one[1]) > MAX_TOKENS:
                yield batch
                batch = []
            batch.append(one)
        yield batch


def _length(question: Request) -> int:
    return len(question.source) + len(question.told)


def _to_batch(
    questions: Sequence[Request], reading: str, vocabulary: Vocabulary, start: int
) -> TensorBatch:
    """Questions [B] as what a network reads, with `positions` [M] in its flattened states and
    `targets` [M]; `hidden` [B, T] of a permuted reading, which has one state for each question."""
    two = reading == "encoder_decoder"
    rows = [question.source if two else question.source + question.told for question in questions]
    batch = _padded("", rows, vocabulary.pad)
    width, ahead = batch["input_ids"].shape[1], [len(q.source) - 1 for q in questions]
    if two:
        decoder = [[start, *question.told[:-1]] for question in questions]
        batch |= _padded("decoder_", decoder, vocabulary.pad)
        width, ahead = batch["decoder_input_ids"].shape[1], [0] * len(questions)
    elif reading == "prefix":
        batch["prefix_lengths"] = torch.tensor([len(q.source) for q in questions])
    batch["positions"] = torch.tensor(
        [
            row * width + place + (ahead[row] if question.told else 0)
            for row, question in enumerate(questions)
            for place in question.named
        ]
    )
    if reading == "permuted":
        batch |= _permuted(questions, batch["input_ids"])
    batch["token_type_ids"] = torch.zeros_like(batch["input_ids"])
    batch["targets"] = torch.tensor(list(chain.from_iterable(q.tokens for q in questions)))
    return batch


def _permuted(questions: Sequence[Request], input_ids: Tensor) -> TensorBatch:
    hidden = torch.zeros_like(input_ids)
    for row, question in enumerate(questions):
        hidden[row, list(question.hidden)] = 1
    asked = torch.tensor([question.named for question in questions])
    return {"hidden": hidden, "asked": asked, "positions": torch.arange(len(questions))}


def _padded(prefix: str, rows: Sequence[Sequence[int]], pad: int) -> TensorBatch:
    """`<prefix>input_ids` and `<prefix>attention_mask`, [B, longest]."""
    width = max(map(len, rows))
    tokens = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    mask = (torch.arange(width) < lengths[:, None]).long()
    return {f"{prefix}input_ids": tokens, f"{prefix}attention_mask": mask}


def _states(backbone: Backbone, batch: TensorBatch, reading: str) -> Tensor:
    """[B, T, H] states that the token head reads; of a decoder [B, U, H], permuted [B, 1, H]."""
    if reading == "cbow":
        assert isinstance(backbone.network, StaticVectors)
        return backbone.network.context(batch["input_ids"], batch["attention_mask"])
    if reading == "permuted":
        return _query_states(backbone, batch)
    inputs = {name: batch[name] for name in READ if name in batch}
    states: Tensor = backbone(**inputs, representation=reading).last_hidden_state
    return states.chunk(2, dim=-1)[0] if reading == "bilm" else states  # ELMo's forward reader


def _query_states(backbone: Backbone, batch: TensorBatch) -> Tensor:
    """[B, 1, H] XLNet's second stream at the token asked for (Yang et al. 2019, section 2.3)."""
    width = batch["input_ids"].shape[1]
    states: Tensor = backbone.network.base_model(
        input_ids=batch["input_ids"],
        attention_mask=batch["attention_mask"],
        token_type_ids=batch["token_type_ids"],
        perm_mask=batch["hidden"][:, None, :].expand(-1, width, -1).float(),
        target_mapping=F.one_hot(batch["asked"], width).float(),
    ).last_hidden_state
    return states
