"""Several processes (ranks), each with a device, that train one network.

Each rank computes its share of every batch (`harness.pretraining.objectives.shares`); gradients,
losses and metrics are summed over all. Rank 0 alone writes. In one process, all of it does nothing.

Ranks meet, and plans count devices, without Lightning and sharded tensors, which load for seconds.
"""

import os
import socket
import time
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn
from torch.utils._pytree import tree_map

from harness.core.compute import DEFAULT_COMPUTE, Compute
from harness.core.files import write_atomically

Value = TypeVar("Value")
LAYER_NAMES = ("Layer", "Block")
"""Ends of the class names of a network's layers, such as BertLayer and GPT2Block."""
LOOPBACK = ("lo", "lo0")
"""Names of the loopback interface on Linux and macOS."""
POLL_SECONDS = 0.1
"""Interval at which a rank looks for the address of rank 0."""


@dataclass(frozen=True)
class Ranks:
    """The processes that train one network, as many on each node."""

    devices: int
    """Of each node; each has a process."""
    meeting: Path
    """File that does not exist yet, the same for all ranks."""
    num_nodes: int = 1
    node: int = 0
    """Number of this node, from 0."""

    @property
    def total(self) -> int:
        """Ranks of all nodes."""
        return self.num_nodes * self.devices


def default_micro_batch_tokens(compute: Compute = DEFAULT_COMPUTE) -> int:
    """Default number of positions per forward pass of a device."""
    return 65_536 if uses_gpus(compute) else 8_192


def num_devices(compute: Compute) -> int:
    """Devices of a pretraining run on this machine, one of its nodes.

    Raises:
        ValueError: there are fewer GPUs, or none although `accelerator` asks for one.
    """
    num_gpus = _num_gpus(compute)
    if compute.accelerator == "gpu" and not num_gpus:
        raise ValueError(
            "compute.accelerator must be auto or cpu on a machine without a GPU, but is gpu; "
            "change it"
        )
    if compute.devices == "auto":
        return max(1, num_gpus)
    if num_gpus and compute.devices > num_gpus:
        raise ValueError(
            f"compute.devices must be at most the number of GPUs, here {num_gpus}, but is "
            f"{compute.devices}; lower it, or set it to auto"
        )
    return compute.devices


def uses_gpus(compute: Compute) -> bool:
    """Whether the devices are GPUs."""
    return _num_gpus(compute) > 0


def one_device(compute: Compute) -> torch.device:
    """The device of a stage that takes one."""
    return torch.device("cuda" if uses_gpus(compute) else "cpu")


def _num_gpus(compute: Compute) -> int:
    return 0 if compute.accelerator == "cpu" else torch.cuda.device_count()


def join(device: int, ranks: Ranks, compute: Compute) -> None:
    """Makes this process a rank, once all others have called it, too.

    Args:
        device: number of its device on this node, from 0.
    """
    number = ranks.node * ranks.devices + device
    has_gpu = uses_gpus(compute)
    if has_gpu:
        torch.cuda.set_device(device)
    if ranks.num_nodes == 1:
        _stay_on_this_machine()
    distributed.init_process_group(
        "cpu:gloo,cuda:nccl" if has_gpu else "gloo",
        store=_meet(number, ranks),
        rank=number,
        world_size=ranks.total,
    )


def _stay_on_this_machine() -> None:
    """Has Gloo listen at the loopback address instead of that of the host's name, which others may
    reach."""
    for _, name in socket.if_nameindex():
        if name in LOOPBACK:
            os.environ.setdefault("GLOO_SOCKET_IFNAME", name)


def _meet(number: int, ranks: Ranks) -> distributed.Store:
    """Where the ranks find each other: on one node a file, on several a port of the first."""
    if ranks.num_nodes == 1:
        return distributed.FileStore(str(ranks.meeting), ranks.total)
    if number == 0:
        host = own_address()
        server = distributed.TCPStore(host, 0, is_master=True, wait_for_workers=False)
        write_atomically(ranks.meeting, f"{host} {server.port}")
        return server
    while not ranks.meeting.exists():  # the process that started this one ends it
        time.sleep(POLL_SECONDS)
    host, port = ranks.meeting.read_text().split()
    return distributed.TCPStore(host, int(port), is_master=False)


def own_address() -> str:
    """The IP address at which other machines reach this one; that of loopback without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # of RFC 5737; UDP sends nothing to connect
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


def is_connection_error(error: BaseException) -> bool:
    """Whether a rank failed since another did. Gloo has no class of errors of its own."""
    return isinstance(error, distributed.DistError) or "gloo/transport" in str(error)


def lightning_devices(compute: Compute) -> list[int] | int:
    """What `pytorch_lightning.Trainer` takes: the GPU of this rank, or one device."""
    return [torch.cuda.current_device()] if num_ranks() > 1 and uses_gpus(compute) else 1


def num_ranks() -> int:
    """Processes that train the network."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """Number of this process, from 0."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def agreed(value: Value) -> Value:
    """The value of rank 0."""
    values = [value]
    if num_ranks() > 1:
        distributed.broadcast_object_list(values)
    return values[0]


def gathered(value: Value) -> list[Value]:
    """The values of all ranks, in their order."""
    if num_ranks() == 1:
        return [value]
    values: list[Any] = [None] * num_ranks()
    distributed.all_gather_object(values, value)
    return values


def summed(tensor: Tensor) -> Tensor:
    """The tensor [...], replaced by its sum over all ranks."""
    if num_ranks() > 1:
        distributed.all_reduce(tensor)
    return tensor


def each_summed(scalars: list[Tensor]) -> list[Tensor]:
    """Each scalar [] replaced by its sum over all ranks."""
    return list(summed(torch.stack(scalars))) if num_ranks() > 1 else scalars


def sum_gradients(weights: list[nn.Parameter]) -> None:
    """Sums gradients over all ranks, at once; those of `shard` are summed as they arise."""
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    if num_ranks() > 1 and gradients and not is_sharded(gradients[0]):
        flat = summed(nn.utils.parameters_to_vector(gradients))
        nn.utils.vector_to_parameters(flat, gradients)


def shard(module: nn.Module, device: str) -> nn.Module:
    """Gives each rank a part of the weights of `module` (FSDP2); returns a whole copy."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    whole_module = deepcopy(module)
    mesh = init_device_mesh(device, (num_ranks(),))
    for layer in _separate_layers(module):
        fully_shard(layer, mesh=mesh)
    fully_shard(module, mesh=mesh)
    return whole_module


def _separate_layers(module: nn.Module) -> list[nn.Module]:
    """The layers that share no weights with other modules, the inner ones first: FSDP2 takes each
    weight in one group alone, so that shared ones are left to that of the whole module."""
    parts = list(module.modules())
    users = Counter(id(weight) for part in parts for weight in part.parameters(recurse=False))
    return [
        layer
        for layer in reversed(parts)
        if type(layer).__name__.endswith(LAYER_NAMES)
        and all(users[id(weight)] == 1 for weight in layer.parameters())
    ]


def whole(tree: Any) -> Any:
    """Nested values with each sharded tensor as a whole, on all ranks."""
    return tree_map(lambda leaf: leaf.full_tensor() if is_sharded(leaf) else leaf, tree)


def is_sharded(value: Any) -> bool:
    """Whether a value is a tensor of which each rank has a part."""
    from torch.distributed.tensor import DTensor

    return isinstance(value, DTensor)


def shard_checkpoint(
    checkpoint: dict[str, Any], own: dict[str, Tensor], weights: list[nn.Parameter]
) -> None:
    """Shards the tensors of a Lightning checkpoint as those of a module.

    Args:
        own: name to tensor of the module.
        weights: in the order of the optimiser.
    """
    saved = checkpoint["state_dict"]
    for name, tensor in saved.items():
        saved[name] = _sharded_like(tensor, own[name])
    for index, state in checkpoint["optimizer_states"][0]["state"].items():
        for name, value in state.items():
            state[name] = _sharded_like(value, weights[index])


def _sharded_like(tensor: Tensor, like: Tensor) -> Tensor:
    """A whole tensor, sharded as `like` is; as it is if it has another shape."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    if not isinstance(like, DTensor) or tensor.shape != like.shape:
        return tensor
    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements)
