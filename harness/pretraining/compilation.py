"""Whether and how the layers of a network are compiled for pretraining."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from harness.core.compute import Compute
from harness.models.layers import compiled_layers
from harness.pretraining.distributed import uses_gpus
from harness.pretraining.module import PretrainingModule
from harness.pretraining.training_flops import TRAINING

MIN_FLOPS = 1e17
"""FLOPs of a run from which compilation pays on a GPU: five to ten minutes of an H200, on which it
takes 10 to 40 s, and BERT base and GPT-2 gain 7 to 64 % (benchmarks/README.md)."""
MAX_GRAPHS = 64
"""Graphs of the layers of all networks that a process trains: in transformers, layers of all
families share the function that torch counts them by."""


@contextmanager
def compiled(module: PretrainingModule, compute: Compute) -> Iterator[None]:
    """Has layers compiled as `compute` says; a layer that `auto` cannot compile runs as it is."""
    chosen = compute.compile
    is_compiled = pays(module, compute) if chosen == "auto" else chosen
    module.is_compiled = is_compiled
    with ExitStack() as stack:
        if is_compiled:
            import torch._dynamo.config as dynamo  # loads for seconds

            settings = {"suppress_errors": chosen == "auto", "recompile_limit": MAX_GRAPHS}
            stack.enter_context(dynamo.patch(settings))
            stack.enter_context(compiled_layers(module.learner))
        yield


def pays(module: PretrainingModule, compute: Compute) -> bool:
    """Whether compilation takes less time than it saves, where that was measured: on a GPU, for
    networks that are not sharded."""
    spec = module.spec
    longest = max(phase.sequence_length for phase in spec.phases)
    tokens = module.num_steps * spec.batch_size * longest
    flops = TRAINING * 2.0 * sum(weight.numel() for weight in module.trained) * tokens
    return uses_gpus(compute) and compute.strategy != "fsdp" and flops >= MIN_FLOPS
