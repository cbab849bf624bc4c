"""Log-likelihoods of texts under a pretrained network, and whether it would write them, for any
objective that predicts tokens.

Shapes: B requests, T input tokens, U decoder tokens, M targets, H hidden size.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from harness.core.compute import DEFAULT_COMPUTE, Compute
from harness.models import BOUNDED
from harness.models.backbone import Backbone
from harness.models.checkpoints.files import positions
from harness.models.static_embeddings import StaticVectors
from harness.pretraining.distributed import one_device
from harness.pretraining.learners.learner import decoder_start, gather, network_inputs
from harness.pretraining.learners.permutation import query_states
from harness.pretraining.objectives.loader import TensorBatch
from harness.pretraining.objectives.objective import Objective
from harness.pretraining.objectives.vocabulary import Vocabulary
from harness.pretraining.scoring.requests import (
    Request,
    Text,
    default_objective,
    left_to_right,
    make_requests,
)

MAX_TOKENS = 4_096
"""Positions per forward pass."""
MAX_LOGITS = 2**22
"""Logits that exist at once: more do not stay in the cache of a CPU, and fill the memory of a GPU
with the vocabularies of large networks."""
TEXTS_AT_ONCE = 1_024
"""Texts whose requests are sorted by length together."""
TABLES = tuple(family for family in BOUNDED if not family.startswith("deberta"))
"""Families with a table of positions; DeBERTa's are relative, except in its mask decoder."""

ScoredBatch = tuple[int, Request]
"""Index of the text, and a request for it."""
MakeRequests = Callable[[Text, Objective, Vocabulary], list[Request]]
"""As `make_requests`."""


def log_likelihoods(
    backbone: Backbone,
    vocabulary: Vocabulary,
    texts: Sequence[Text],
    compute: Compute = DEFAULT_COMPUTE,
) -> np.ndarray:
    """[num_texts] log-likelihoods in nats, or pseudo-log-likelihoods of in-place models.

    See `harness.pretraining.scoring.requests.make_requests`. Scores of different networks are not
    comparable.

    Args:
        compute: its device.
    """
    scores = np.zeros(len(texts))
    device = one_device(compute)
    for owners, logits, targets in _predictions(backbone, vocabulary, texts, make_requests, device):
        nats = F.cross_entropy(logits, targets, reduction="none").double().cpu().numpy()
        np.subtract.at(scores, owners, nats)
    return scores


def written(
    backbone: Backbone,
    vocabulary: Vocabulary,
    texts: Sequence[Text],
    compute: Compute = DEFAULT_COMPUTE,
) -> np.ndarray:
    """[num_texts] whether greedy generation writes the tokens in the gap after those before it.

    It does if each of them is the likeliest token after the tokens before it, so that none has to
    be generated. See `harness.pretraining.scoring.requests.left_to_right`.

    Args:
        compute: its device.
    """
    right = np.ones(len(texts), dtype=bool)
    device = one_device(compute)
    for owners, logits, targets in _predictions(backbone, vocabulary, texts, left_to_right, device):
        likeliest = (logits.argmax(-1) == targets).cpu().numpy()
        np.logical_and.at(right, owners, likeliest)
    return right


@torch.no_grad()
def _predictions(
    backbone: Backbone,
    vocabulary: Vocabulary,
    texts: Sequence[Text],
    requests: MakeRequests,
    device: torch.device,
) -> Iterator[tuple[list[int], Tensor, Tensor]]:
    """Batches of the number of the text [M], logits [M, V] and targets [M] of predicted tokens."""
    objective, start = objective_of(backbone, vocabulary), decoder_start(backbone, vocabulary)
    longest = _num_positions(backbone)
    backbone.eval().to(device)
    for some in _batches(texts, lambda text: requests(text, objective, vocabulary)):
        batch = _to_batch([q for _, q in some], objective.representation, vocabulary, start)
        _check_width(batch, longest)
        batch = {name: tensor.to(device) for name, tensor in batch.items()}
        states = gather(_states(backbone, batch, objective.representation), batch["positions"])
        owners = [number for number, request in some for _ in request.positions]
        at_once = max(1, MAX_LOGITS // vocabulary.size)
        for first in range(0, len(owners), at_once):
            part = slice(first, first + at_once)
            yield owners[part], backbone.token_logits(states[part]).float(), batch["targets"][part]


def _num_positions(backbone: Backbone) -> float:
    """The length of a network's table of positions; infinite without one."""
    config = backbone.network.config.to_dict()
    has_table = backbone.family in TABLES and config.get("harness_positions") != "none"
    decodes_masks = backbone.blueprint.token_stack is not None
    return positions(config) if has_table or decodes_masks else math.inf


def _check_width(batch: TensorBatch, num_positions: float) -> None:
    """Refuses rows [B, T] beyond the positions of a network.

    Raises:
        ValueError: there are fewer than T.
    """
    names = [name for name in ("input_ids", "decoder_input_ids") if name in batch]
    if (width := max(batch[name].shape[1] for name in names)) > num_positions:
        raise ValueError(
            f"a text has {width} tokens with the special ones, but the network has "
            f"{num_positions:g} positions; raise model.max_position, or choose a tokenizer with "
            "longer tokens"
        )


def objective_of(backbone: Backbone, vocabulary: Vocabulary) -> Objective:
    """The network's objective (the last of a mixture); assumed if its files name none."""
    if backbone.objective:
        return Objective.model_validate(backbone.objective)
    return default_objective(backbone.representation, vocabulary)


def _batches(
    texts: Sequence[Text], requests: Callable[[Text], list[Request]]
) -> Iterator[list[ScoredBatch]]:
    """All requests, grouped by length, at most MAX_TOKENS positions per batch."""
    for first in range(0, len(texts), TEXTS_AT_ONCE):
        some = enumerate(texts[first : first + TEXTS_AT_ONCE], first)
        requested = [(number, request) for number, text in some for request in requests(text)]
        batch: list[ScoredBatch] = []
        for one in sorted(requested, key=lambda one: _length(one[1])):  # the next is never shorter
            if batch and (len(batch) + 1) * _length(one[1]) > MAX_TOKENS:
                yield batch
                batch = []
            batch.append(one)
        yield batch


def _length(request: Request) -> int:
    return len(request.source) + len(request.continuation)


def _to_batch(
    requests: Sequence[Request], representation: str, vocabulary: Vocabulary, start: int
) -> TensorBatch:
    """The network's inputs, with `positions` [M] in its flattened states and `targets` [M].

    A permuted representation has one state per request.
    """
    is_encoder_decoder = representation == "encoder_decoder"
    rows = [
        request.source if is_encoder_decoder else request.source + request.continuation
        for request in requests
    ]
    batch = _padded("", rows, vocabulary.pad)
    width, ahead = batch["input_ids"].shape[1], [len(q.source) - 1 for q in requests]
    if is_encoder_decoder:
        decoder = [[start, *request.continuation[:-1]] for request in requests]
        batch |= _padded("decoder_", decoder, vocabulary.pad)
        width, ahead = batch["decoder_input_ids"].shape[1], [0] * len(requests)
    elif representation == "prefix":
        batch["prefix_lengths"] = torch.tensor([len(q.source) for q in requests])
    batch["positions"] = torch.tensor(
        [
            row * width + place + (ahead[row] if request.continuation else 0)
            for row, request in enumerate(requests)
            for place in request.positions
        ]
    )
    if representation == "permuted":
        batch |= _permuted(requests, batch["input_ids"])
    batch["token_type_ids"] = torch.zeros_like(batch["input_ids"])
    batch["targets"] = torch.tensor(list(chain.from_iterable(q.targets for q in requests)))
    return batch


def _permuted(requests: Sequence[Request], input_ids: Tensor) -> TensorBatch:
    """The order [B, T] in which no position sees the hidden ones of its request."""
    hidden = torch.zeros_like(input_ids)
    for row, request in enumerate(requests):
        hidden[row, list(request.hidden)] = 1
    predicted = torch.tensor([request.positions for request in requests])
    return {
        "order": hidden - 1,
        "chosen": hidden.bool(),
        "predicted": predicted,
        "positions": torch.arange(len(requests)),
    }


def _padded(prefix: str, rows: Sequence[Sequence[int]], pad: int) -> TensorBatch:
    """`<prefix>input_ids` and `<prefix>attention_mask`, [B, longest]."""
    width = max(map(len, rows))
    tokens = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    mask = (torch.arange(width) < lengths[:, None]).long()
    return {f"{prefix}input_ids": tokens, f"{prefix}attention_mask": mask}


def _states(backbone: Backbone, batch: TensorBatch, representation: str) -> Tensor:
    """[B, T, H] states for the token head; [B, U, H] of a decoder, [B, 1, H] if permuted."""
    if representation == "cbow":
        assert isinstance(backbone.network, StaticVectors)
        return backbone.network.context(batch["input_ids"], batch["attention_mask"])
    if representation == "permuted":
        return query_states(backbone, batch)
    states: Tensor = backbone(
        **network_inputs(batch), representation=representation, for_token_head=True
    ).last_hidden_state
    return states.chunk(2, dim=-1)[0] if representation == "bilm" else states  # ELMo's forward LM
