"""How runs are computed: the hardware, and what may differ between machines."""

from typing import Literal

from pydantic import Field

from harness.core.config import ConfigModel


class Compute(ConfigModel):
    """Hardware and memory. Only `precision` changes what a run learns beyond rounding, and only it
    enters stage keys."""

    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    """Lightning's name of the hardware; `auto` takes a GPU where there is one."""
    devices: Literal[1] = 1
    """Devices of one stage. Stages run in parallel on others (`harness run --jobs`)."""
    strategy: Literal["auto"] = "auto"
    """Lightning's name of how one stage is spread over devices."""
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    """Lightning's name of the number format of pretraining."""
    micro_batch_tokens: int | None = Field(default=None, ge=8)
    """Positions in one forward pass; a larger batch accumulates its gradient. Null takes 65,536 on
    a GPU and 8,192 elsewhere; halved when memory runs out."""
    compile: bool = False
    """torch.compile of the pretrained model: slow to start, fast on a GPU."""
    checkpoint_interval_seconds: float = Field(default=20.0, ge=0)
    """Time between checkpoints of pretraining."""
    max_checkpoint_overhead: float = Field(default=0.05, gt=0)
    """Checkpoints are farther apart where saving would take a larger share of the time."""


DEFAULT_COMPUTE = Compute()
