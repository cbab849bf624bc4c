"""Where the time of a pretraining stage goes, measured on some of its updates."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

from harness.core.compute import Compute
from harness.core.memory import peak_memory, reset_peak_memory
from harness.execution.backends.processes import default_threads
from harness.execution.devices import devices_problem
from harness.execution.job import Workspace
from harness.execution.profile_inputs import stage_inputs
from harness.execution.worker_process import limit_threads
from harness.plan.plan import Plan, Stage
from harness.pretraining.recipes.pretrain import Pretrain
from harness.pretraining.steps import planned_steps
from harness.store.store import Store

if TYPE_CHECKING:
    from harness.pretraining.profiling import Measured, Operator

Report = Callable[[str, int, int], None]
"""Called with what is being done, and updates done of all (0 of 0: no updates)."""


@dataclass(frozen=True)
class Profile:
    """The measured updates of a run, and what follows for a whole one."""

    spec: Pretrain
    compute: Compute
    measured: "Measured"
    operators: "Sequence[Operator]"
    """The most expensive first."""
    imports: float
    """Seconds of importing torch and other libraries, once for each worker."""
    memory: Mapping[str, float]
    """Peaks by the names of `harness.core.memory.peak_memory`."""
    device: str
    """Name of the device."""
    peak_flops: float
    """FLOP/s of the device."""
    is_peak_measured: bool
    """Whether `peak_flops` is that of a product of matrices here, not a data sheet's."""

    @property
    def mfu(self) -> float:
        """Model FLOPs utilisation, from 0 to 1."""
        rate = self.measured.tokens_per_second * self.measured.flops_per_token
        return rate / self.peak_flops

    @property
    def num_steps(self) -> int:
        """Updates of a whole run; of a budget in seconds, those that fit at this speed."""
        return planned_steps(self.spec, 1 / sum(self.measured.seconds.values()))

    @cached_property
    def run_seconds(self) -> dict[str, float]:
        """Part to seconds of a whole run, with what it does once: `start` (imports, network, first
        update), `evaluation` (held-out loss) and `storage` (checkpoints, network)."""
        one, steps = self.measured, self.num_steps
        updates = {part: steps * seconds for part, seconds in one.seconds.items()}
        pause = max(
            self.compute.checkpoint_interval_seconds,
            one.checkpoint / self.compute.max_checkpoint_overhead,
        )
        checkpoints = min(steps, math.floor(sum(updates.values()) / pause))
        networks = 1 + len(self.spec.checkpoint_fractions)
        return updates | {
            "start": self.imports + one.start,
            "evaluation": one.evaluation,
            "storage": checkpoints * one.checkpoint + networks * one.saving,
        }


def profile_stage(
    plan: Plan,
    stage: Stage,
    store: Store | None,
    updates: int,
    trace: Path | None = None,
    report: Report = lambda what, done, total: None,
) -> Profile:
    """The profile of a pretraining stage on one device of this machine. Nothing is stored.

    Args:
        store: where its inputs are taken from; null: there is none.
        updates: number of measured updates.
        trace: JSON file for a trace of a few more.

    Raises:
        ValueError: a run that this one starts from is not finished, this machine lacks the device,
            memory runs out, or the text is too small.
    """
    compute = plan.experiment.compute.model_copy(update={"devices": 1, "num_nodes": 1})
    if problem := devices_problem(plan, [stage]):
        raise ValueError(problem)
    report("importing torch", 0, 0)
    imports = _import_libraries(compute)
    from harness.execution.utilisation import device_name, known_peak, measured_peak
    from harness.pretraining.profiling import measure, operators
    from harness.pretraining.short_run import ShortRun

    spec = Pretrain.model_validate(stage.spec["pretrain"])
    with TemporaryDirectory(prefix="harness-profile-") as root:
        workspace = Workspace(Path(root))
        inputs = stage_inputs(plan, stage, store, workspace, lambda what: report(what, 0, 0))
        run = ShortRun(spec, inputs, stage.spec["seed"], compute, workspace.state(stage.key))
        reset_peak_memory()
        measured = measure(run, updates, lambda done, total: report("updates", done, total))
        memory = peak_memory()
        traced = operators(run, lambda done, total: report("traced updates", done, total), trace)
    report("peak of the device", 0, 0)
    name = device_name(measured.device)
    known = known_peak(name, compute.precision)
    return Profile(
        spec,
        compute,
        measured,
        traced,
        imports,
        memory,
        name,
        known or measured_peak(measured.device, compute.precision),
        is_peak_measured=not known,
    )


def _import_libraries(compute: Compute) -> float:
    """Seconds of what a worker imports; limits the threads of this process as of a worker."""
    begin = perf_counter()
    limit_threads(compute.threads or default_threads(compute))
    import_module("harness.execution.stages")
    return perf_counter() - begin
