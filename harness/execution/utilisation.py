"""Model FLOPs utilisation (MFU): the share of a device's peak rate that training uses.

MFU = tokens/s x FLOPs per token / peak FLOP/s (Chowdhery et al. 2022, appendix B), with the FLOPs
of `harness.models.flops.FLOPS_CONVENTION`. Activations that are computed again do not count.
"""

import re
from typing import TYPE_CHECKING

from harness.execution.cluster_estimate import DEVICES

if TYPE_CHECKING:
    import torch

MEASURED_SIDES = {"cpu": 2048, "cuda": 8192}
"""Type of a device to the rows and columns of the matrices whose product measures its peak."""
MEASURED_SECONDS = 1.0


def known_peak(name: str, precision: str) -> float | None:
    """FLOP/s of a GPU by its data sheet; null for other devices.

    Args:
        name: as torch gives it, such as "NVIDIA A100-SXM4-80GB".
        precision: 32-true or bf16-mixed.
    """
    words = re.split(r"[\s-]+", name)
    for known, device in DEVICES.items():
        is_variant = "SXM" in device.source and {"PCIe", "NVL"} & set(words)  # slower ones
        if known in words and known != "cpu" and not is_variant:  # of which no peak is listed
            return device.bf16 if precision == "bf16-mixed" else device.fp32
    return None


def device_name(device: "torch.device") -> str:
    """The name of a GPU, or that of a CPU's type with the threads of this process."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} (threads: {torch.get_num_threads()})"


def measured_peak(device: "torch.device", precision: str) -> float:
    """FLOP/s of the fastest of some products of two large matrices, with the threads of this
    process.

    Args:
        precision: 32-true or bf16-mixed.
    """
    import torch
    from torch.utils.benchmark import Timer

    side = MEASURED_SIDES[device.type]
    dtype = torch.bfloat16 if precision == "bf16-mixed" else torch.float32
    left, right = torch.rand(2, side, side, device=device, dtype=dtype)
    timer = Timer("left @ right", globals=locals(), num_threads=torch.get_num_threads())
    return 2 * side**3 / min(timer.blocked_autorange(min_run_time=MEASURED_SECONDS).times)
