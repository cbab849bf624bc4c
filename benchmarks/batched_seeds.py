"""Time of an update of several equal networks in one program, against one network after the other.

    python benchmarks/batched_seeds.py [--seeds 3] [--repeats 5] [--updates 100]

Networks that differ in their seeds alone can be trained as one whose linear layers multiply
batches of matrices, so that an operation is called once for all (Wang et al. 2021, HFTA). Both
sides are bare loops around BERT of transformers, without dropout, with gradients clipped for each
network and the fused AdamW, on one thread or on a GPU; the first losses must agree. An update
predicts 30 % of its tokens; that of fine-tuning is of a masked model, too, on a batch as short as
those of the tasks of the micro-world.
"""

import argparse
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import BertConfig, BertForMaskedLM

from benchmarks.common import (
    Measurements,
    machine,
    markdown,
    measure_in_turns,
    median_ratio,
    parse_arguments,
    save,
    seconds,
    settings,
    suffix,
)

VOCABULARY, PREDICTED, DEVICE = 1_500, 0.3, "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Shape:
    """A network and its batches."""

    hidden_size: int
    rows: int
    length: int

    @property
    def num_predicted(self) -> int:
        """Predictions of a batch."""
        return int(PREDICTED * self.rows * self.length)


SHAPES = {
    "nano, pretraining, 16 x 32": Shape(64, 16, 32),
    "tiny, pretraining, 16 x 32": Shape(128, 16, 32),
    "tiny, pretraining, 4 x 128": Shape(128, 4, 128),
    "nano, fine-tuning, 16 x 12": Shape(64, 16, 12),
    "nano, fine-tuning, 4 x 12": Shape(64, 4, 12),
}


class BatchedLinear(nn.Module):
    """Linear layers of S networks, whose rows [S * rows, ...] stand one network after another."""

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.stack([one.weight.data for one in layers]))
        self.bias = nn.Parameter(torch.stack([one.bias.data for one in layers])[:, None])

    def forward(self, inputs: Tensor) -> Tensor:
        """[S * rows, ..., output size]."""
        flat = inputs.reshape(len(self.weight), -1, inputs.shape[-1])
        outputs = torch.baddbmm(self.bias, flat, self.weight.transpose(1, 2))
        return outputs.view(*inputs.shape[:-1], -1)


class BatchedNorm(nn.Module):
    """Layer norms of S networks, as `BatchedLinear`."""

    def __init__(self, layers: Sequence[nn.LayerNorm]) -> None:
        super().__init__()
        self.eps = layers[0].eps
        self.weight = nn.Parameter(torch.stack([one.weight.data for one in layers])[:, None])
        self.bias = nn.Parameter(torch.stack([one.bias.data for one in layers])[:, None])

    def forward(self, inputs: Tensor) -> Tensor:
        """As the inputs."""
        scaled = F.layer_norm(inputs, inputs.shape[-1:], eps=self.eps)
        flat = scaled.view(len(self.weight), -1, inputs.shape[-1])
        return torch.addcmul(self.bias, flat, self.weight).view(inputs.shape)


class BatchedEmbedding(nn.Module):
    """Embeddings of S networks, of ids [S * rows, ...], or of [1, ...] ids that all share."""

    def __init__(self, tables: Sequence[nn.Embedding]) -> None:
        super().__init__()
        self.seeds, self.size = len(tables), tables[0].num_embeddings
        self.weight = nn.Parameter(torch.cat([one.weight.data for one in tables]))

    def forward(self, ids: Tensor) -> Tensor:
        """[S * rows, ..., H], or [S, ..., H] of shared ids."""
        offset = torch.arange(self.seeds, device=ids.device)[:, None] * self.size
        numbers = ids.reshape(1 if len(ids) == 1 else self.seeds, -1) + offset
        return F.embedding(numbers, self.weight).view(-1, *ids.shape[1:], self.weight.shape[1])


BATCHED: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    nn.Linear: BatchedLinear,
    nn.LayerNorm: BatchedNorm,
    nn.Embedding: BatchedEmbedding,
}


def batched(networks: Sequence[nn.Module]) -> Any:
    """One network of several that are built alike."""
    found = copy.deepcopy(networks[0])
    for name, module in list(found.named_modules()):
        if kind := BATCHED.get(type(module)):
            parent, _, child = name.rpartition(".")
            layers = [network.get_submodule(name) for network in networks]
            setattr(found.get_submodule(parent), child, kind(layers))
    return found.to(DEVICE)


def build(shape: Shape, seed: int) -> nn.Module:
    """BERT with two layers, two heads and new weights."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=shape.hidden_size,
        intermediate_size=4 * shape.hidden_size,
        num_hidden_layers=2,
        num_attention_heads=2,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.1,
        pad_token_id=None,
    )
    network: nn.Module = BertForMaskedLM(config)
    return network.to(DEVICE)


class Training:
    """Updates of one network, or of S as one, always on the same batch.

    Args:
        ids: [S * rows, T].
        positions: [S * M] in the flattened ids.
        targets: [S * M].
    """

    def __init__(self, network: Any, seeds: int, ids: Tensor, positions: Tensor, targets: Tensor):
        self.network, self.seeds = network, seeds
        self.ids, self.positions, self.targets = ids, positions, targets
        self.optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)

    def update(self) -> Tensor:
        """The loss before the update, summed over the networks."""
        bert, head = self.network.bert, self.network.cls.predictions
        embedded = self._embedded(bert.embeddings)
        states = bert.encoder(embedded).last_hidden_state.flatten(0, 1)[self.positions]
        logits = self._logits(head.transform(states), bert, head)
        loss = self.seeds * F.cross_entropy(logits, self.targets)
        loss.backward()
        self._clip()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def _embedded(self, embeddings: Any) -> Tensor:
        """[S * rows, T, H] sum of BERT's embeddings, whose own class is for one network."""
        length = self.ids.shape[1]
        numbers = torch.arange(length, device=self.ids.device)[None]
        shared = embeddings.position_embeddings(numbers) + embeddings.token_type_embeddings(
            0 * numbers
        )
        tokens = embeddings.word_embeddings(self.ids)
        tokens = tokens.view(self.seeds, -1, *tokens.shape[1:]) + shared[:, None]
        return embeddings.LayerNorm(tokens.flatten(0, 1))

    def _logits(self, states: Tensor, bert: Any, head: Any) -> Tensor:
        """[S * M, V] by the word embeddings."""
        weight = bert.embeddings.word_embeddings.weight
        if self.seeds == 1:
            return F.linear(states, weight, head.decoder.bias)
        tables = weight.view(self.seeds, VOCABULARY, -1).transpose(1, 2)
        flat = states.view(self.seeds, -1, states.shape[-1])
        return torch.baddbmm(head.decoder.bias, flat, tables).flatten(0, 1)

    def _clip(self) -> None:
        """Clips the norm of each network's gradient to 1."""
        gradients = [one.grad for one in self.network.parameters() if one.grad is not None]
        parts = [one.view(self.seeds, -1) for one in gradients]
        norms = torch._foreach_norm([row for part in parts for row in part.unbind()])
        whole = torch.stack(norms).view(-1, self.seeds).norm(dim=0)
        factor = (1 / (whole + 1e-6)).clamp(max=1)[:, None]
        torch._foreach_mul_(parts, [factor] * len(parts))


def trainings(shape: Shape, seeds: int) -> tuple[list[Training], Training]:
    """The training of each network, and that of all as one, of equal batches and weights."""
    networks = [build(shape, seed) for seed in range(seeds)]
    size, count = shape.rows * shape.length, shape.num_predicted
    ids = torch.randint(VOCABULARY, (seeds, shape.rows, shape.length), device=DEVICE)
    places = torch.stack([torch.randperm(size, device=DEVICE)[:count] for _ in range(seeds)])
    targets = torch.randint(VOCABULARY, (seeds, count), device=DEVICE)
    offsets = torch.arange(seeds, device=DEVICE)[:, None] * size
    together = batched(networks)
    alone = [
        Training(networks[one], 1, ids[one], places[one], targets[one]) for one in range(seeds)
    ]
    flat = (ids.flatten(0, 1), (places + offsets).flatten(), targets.flatten())
    return alone, Training(together, seeds, *flat)


def rate(update: Callable[[], object], number: int, seeds: int) -> float:
    """Updates of one network per second."""

    def run() -> None:
        for _ in range(number):
            update()
        if DEVICE == "cuda":
            torch.cuda.synchronize()

    return seeds * number / seconds(run)


def measure(shape: Shape, arguments: argparse.Namespace) -> Measurements:
    """Updates per second of both, in turns."""
    alone, together = trainings(shape, arguments.seeds)
    for _ in range(3):  # warms up
        losses = torch.stack([one.update() for one in alone]).sum()
        torch.testing.assert_close(together.update(), losses, rtol=1e-4, atol=0)
    each, seeds = arguments.updates, arguments.seeds
    systems = {
        "separate": lambda: rate(lambda: [one.update() for one in alone], each, seeds),
        "batched": lambda: rate(together.update, each, seeds),
    }
    return measure_in_turns(systems, arguments.repeats)


def page(figures: dict[str, Any]) -> str:
    """The figures as a page."""
    chosen, on = figures["settings"], figures["machine"]
    setting = (
        f"Milliseconds for an update of one of {chosen['seeds']} networks, 2 layers, vocabulary "
        f"{VOCABULARY:,}, float32; median of {chosen['repeats']} turns of {chosen['updates']} "
        f"updates; {on['device']}, torch {on['torch']}."
    )
    rows = [
        [name, f"{one['separate']:.2f}", f"{one['batched']:.2f}", f"{one['ratio']:.2f} x"]
        for name, one in figures["milliseconds"].items()
    ]
    head = ("network and batch", "one after another", "as one", "speed")
    return markdown(__file__, "Several seeds as one program", setting, head, rows)


def main() -> None:
    """Measures and writes the figures."""
    arguments = parse_arguments(
        __doc__, f"batched_seeds{suffix()}", seeds=3, repeats=5, updates=100
    )
    torch.set_num_threads(1)
    times = {}
    for name, shape in SHAPES.items():
        found = measure(shape, arguments)
        middle = {key: sorted(rates)[len(rates) // 2] for key, rates in found.items()}
        times[name] = {key: round(1e3 / value, 3) for key, value in middle.items()}
        times[name]["ratio"] = round(median_ratio(found, "batched", "separate"), 3)
    processor = machine("torch", "transformers")
    on = torch.cuda.get_device_name() if DEVICE == "cuda" else f"{processor['processor']}, 1 thread"
    figures = {
        "settings": settings(arguments),
        "machine": {**processor, "device": on},
        "milliseconds": times,
    }
    save(figures, page(figures), arguments.out)


if __name__ == "__main__":
    main()
