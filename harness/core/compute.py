"""Compute settings: hardware, memory and logging, which may differ between machines."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from harness.core.config import ConfigModel, deep_merge

StageKind = Literal[
    "tokenizer",
    "tokenize",
    "pretrain_trial",
    "tune_pretraining",
    "pretrain",
    "continue_pretraining",
    "held_out_loss",
    "probe",
    "train_tasks",
    "trial",
    "tune",
    "finetune",
]
"""The names in `harness.plan.stage_kinds.STAGE_KINDS`."""


class Resources(ConfigModel):
    """What one stage takes of a node. Null leaves it to the executor."""

    cpus: int | None = Field(default=None, ge=1)
    """CPUs; null: as many as threads."""
    gpus: float | None = Field(default=None, ge=0)
    """GPUs: 0, the number of `compute.devices`, or a fraction for small stages, of which several
    then share a GPU, each with this part of its memory. Null: a GPU where there is one."""
    memory_gb: float | None = Field(default=None, gt=0)
    """Main memory in units of 2^30 bytes."""
    minutes: float | None = Field(default=None, gt=0)
    """Time limit of a job of SLURM, after which the stage goes on in another."""
    custom: Mapping[str, Annotated[float, Field(gt=0)]] = {}
    """Name to amount of other resources that the nodes of the cluster declare."""


class StageResources(Resources):
    """What one stage takes of a node, by kind where kinds differ."""

    kinds: Mapping[StageKind, Resources] = {}
    """Kind of stage to what it takes; the fields that are not set are those of all kinds."""

    def of(self, kind: str) -> Resources:
        """What a stage of a kind takes."""
        common = self.model_dump(exclude_unset=True, exclude={"kinds"})
        own = next((one for name, one in self.kinds.items() if name == kind), Resources())
        merged = deep_merge(common, own.model_dump(exclude_unset=True))
        return Resources.model_validate(merged)

    @property
    def largest_gpu_share(self) -> float:
        """The largest part of a GPU that a stage takes: 1 where none is declared."""
        return max([self.gpus or 1.0, *(one.gpus or 0.0 for one in self.kinds.values())])

    @property
    def shares_gpus(self) -> bool:
        """Whether stages of any kind take a part of a GPU."""
        return any(0 < (one.gpus or 0) < 1 for one in (self, *self.kinds.values()))


class Compute(ConfigModel):
    """Hardware, memory and logging. Only `precision` changes results beyond rounding errors and the
    random numbers of dropout, so only it is part of stage keys."""

    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    """Lightning accelerator; `auto` takes a GPU if there is one."""
    devices: Annotated[int, Field(ge=1)] | Literal["auto"] = 1
    """Devices of one pretraining run, on each node, with a process for each: GPUs, or processes on
    the CPU where there is no GPU; `auto` takes all GPUs. Other stages take one device each. With
    1, `harness run` computes a stage on each GPU."""
    num_nodes: int = Field(default=1, ge=1)
    """Nodes of a cluster (`--executor ray` or `slurm`) that train one pretraining run, with
    `devices` each."""
    strategy: Literal["auto", "ddp", "fsdp"] = "auto"
    """How several devices share a run: each has the whole network (`ddp`, `auto`), or a part of the
    weights, gradients and optimiser state (`fsdp`), for networks that one device cannot train."""
    threads: int | None = Field(default=None, ge=1)
    """CPU threads of one stage, for each of its devices. Null takes OMP_NUM_THREADS if it is set,
    else all cores with a GPU, divided by the stages at a time, and 1 without: stages in parallel
    are faster than threads (benchmarks/results/concurrent_runs.md)."""
    resources: StageResources = StageResources()
    """What one stage takes of a node of a cluster."""
    precision: Literal["32-true", "bf16-mixed"] = "32-true"
    """Lightning precision of training, of the held-out loss at its end and of predictions on tasks:
    `bf16-mixed` is faster on GPUs, and from hidden size 128 on CPUs with instructions for it.
    Probes, prompts and the held-out losses of networks that are trained already are computed in
    float32."""
    micro_batch_tokens: int | None = Field(default=None, ge=8)
    """Tokens in one forward pass, padding included; larger batches accumulate gradients. Null takes
    65,536 on a GPU and 8,192 elsewhere, and halves it when memory runs out."""
    compile: bool | Literal["auto"] = "auto"
    """Whether pretraining compiles the layers of networks (torch.compile), each by itself. `auto`
    does so on a GPU for runs of 1e17 FLOPs or more, unless they are sharded; a layer that cannot be
    compiled then runs as it is. On an H200 with PyTorch 2.11 in bf16, BERT base runs at 1.07 (128
    tokens) and 1.21 times (512) as many tokens per second, GPT-2 at 1.64 and T5 base at 1.66 times;
    on a CPU it is not faster. Compiled layers draw other random numbers for dropout, as other
    devices do."""
    score_every_epoch: bool = False
    """Whether fine-tuning scores the hold-out after every epoch, for a logged curve, where the
    protocol does not do so anyway. It costs time and leaves the results as they are."""
    checkpoint_interval_seconds: float = Field(default=20.0, ge=0)
    """Minimum time between checkpoints of pretraining."""
    max_checkpoint_overhead: float = Field(default=0.05, gt=0)
    """Maximum share of the time spent on saving; checkpoints become less frequent to keep it."""
    loggers: tuple[str, ...] = ("mlflow",)
    """Lightning loggers of the training stages: mlflow (live metrics in the study's MLflow
    experiment), tensorboard, wandb, csv, and those of plug-ins."""

    @model_validator(mode="after")
    def _possible_gpus(self) -> "Compute":
        kinds = [(f"kinds.{name}.gpus", one) for name, one in self.resources.kinds.items()]
        for name, one in [("gpus", self.resources), *kinds]:
            field = f"resources.{name}"
            if one.gpus is None:
                continue
            if not (one.gpus in (0, self.devices) or (self.devices == 1 and one.gpus < 1)):
                part = ", or a part of one, such as 0.5" if self.devices == 1 else ""
                raise ValueError(
                    f"{field} must be 0 or {self.devices}, the devices of a stage{part}, but is "
                    f"{one.gpus:g}; change it"
                )
            if one.gpus and self.accelerator == "cpu":
                raise ValueError(
                    f"{field} must be 0 with the accelerator cpu, but is {one.gpus:g}; change one"
                )
        return self


DEFAULT_COMPUTE = Compute()
