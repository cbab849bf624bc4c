"""How runs are computed: what may differ between machines and never enters a key."""

from pydantic import Field

from harness.core.config import Value


class Compute(Value):
    """Nothing here changes what a run learns, beyond rounding."""

    micro_batch_tokens: int | None = Field(default=None, ge=8)
    """Positions that go through the model at once; a larger batch accumulates its gradient. Null
    takes 65,536 on a GPU and 8,192 elsewhere; halved when memory runs out."""
    compile: bool = False
    """torch.compile of the model that is pretrained: slow to start, fast on a GPU."""
    checkpoint_seconds: float = Field(default=20.0, ge=0)
    """Time between checkpoints of pretraining."""
    checkpoint_share: float = Field(default=0.05, gt=0)
    """Checkpoints are farther apart where saving would take more of the time than this."""
