"""Hours and cost of a plan on a cluster that is not at hand, to an order of magnitude."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.core.compute import Compute
from harness.core.config import unknown_name
from harness.execution.devices import uses_devices
from harness.execution.estimate import assumed_seconds
from harness.execution.makespan import ideal_makespan, makespan
from harness.execution.time_left import Durations, duration
from harness.plan.costs import SECONDS_PER_UPDATE, SUSTAINED_FLOPS
from harness.plan.plan import Stage

TERA = 1e12
UTILISATION = 0.3
"""Assumed share of a GPU's peak rate (model FLOPs utilisation). Large models reached 21 to 46 %
(Chowdhery et al. 2022, table 3: GPT-3 21.3, Megatron-Turing NLG 30.2, Gopher 32.5, PaLM 46.2)."""


@dataclass(frozen=True)
class Device:
    """A kind of device, with the FLOP/s of its dense matrix products."""

    fp32: float
    """In `32-true`, the default, without TF32."""
    bf16: float
    """In `bf16-mixed`, without sparsity."""
    source: str
    utilisation: float = UTILISATION


DEVICES: Mapping[str, Device] = {
    "cpu": Device(SUSTAINED_FLOPS, SUSTAINED_FLOPS, "a thread at nano and tiny, measured", 1.0),
    "A10": Device(31.2 * TERA, 125 * TERA, "NVIDIA A10 data sheet"),
    "L4": Device(30.3 * TERA, 121 * TERA, "NVIDIA L4 data sheet"),
    "L40S": Device(91.6 * TERA, 362 * TERA, "NVIDIA L40S data sheet"),
    "A100": Device(19.5 * TERA, 312 * TERA, "NVIDIA A100 data sheet"),
    "H100": Device(67 * TERA, 989 * TERA, "NVIDIA H100 data sheet, SXM"),
    "H200": Device(67 * TERA, 989 * TERA, "NVIDIA H200 data sheet, SXM"),
}
"""Name to device. Where a data sheet gives BF16 with sparsity alone, half of it."""


@dataclass(frozen=True)
class Cluster:
    """Devices of one kind."""

    count: int
    name: str
    """A name in `DEVICES`."""

    @classmethod
    def parse(cls, text: str) -> "Cluster":
        """`8xH100`, whatever the case.

        Raises:
            ValueError: the text has another form, or the device is not known.
        """
        found = re.fullmatch(r"([1-9]\d{0,5})x(\w+)", text.strip(), re.IGNORECASE)
        if not found:
            raise ValueError(
                f"--cluster must be a number of devices and their name, such as 8xH100, but is "
                f"{text!r}; names: {', '.join(DEVICES)}"
            )
        names = {name.lower(): name for name in DEVICES}
        if found[2].lower() not in names:
            raise ValueError(f"--cluster: {unknown_name('the device', found[2], DEVICES)}")
        return cls(int(found[1]), names[found[2].lower()])

    def __str__(self) -> str:
        return f"{self.count}x{self.name}"


@dataclass(frozen=True)
class ClusterEstimate:
    """The expected duration of stages on a cluster."""

    cluster: Cluster
    precision: str
    """Of pretraining."""
    num_stages: int
    seconds: float
    """Wall clock."""
    ideal_seconds: float
    """No order of the stages takes less."""
    busy_seconds: float
    """Sum over devices."""
    left_out: Mapping[str, int]
    """Kind to number of the stages whose time is not known."""

    @property
    def device_hours(self) -> float:
        """Hours of all devices from the first stage to the last, idle ones included."""
        return self.cluster.count * self.seconds / 3600

    def lines(self, price: float | None = None) -> list[str]:
        """The estimate, its cost and its assumptions, a line each.

        Args:
            price: of a device for an hour.
        """
        if not self.num_stages:
            return [f"on {self.cluster}: nothing to compute"]
        if not self.seconds:
            return [
                f"on {self.cluster}: no stage has known FLOPs; those of a checkpoint are known "
                "once it is on this machine"
            ]
        busy = self.busy_seconds / (self.cluster.count * self.seconds)
        shown = [
            f"on {self.cluster}: about {duration(self.seconds)} for {self.num_stages} stages, to an"
            f" order of magnitude; {_amount(self.device_hours)} device-hours, {100 * busy:.0f} % "
            f"of them busy; in any order at least {duration(self.ideal_seconds)}"
        ]
        if price is not None:
            cost = _amount(self.device_hours * price)
            shown.append(f"cost: about {cost}, at {price:g} per device-hour")
        return [*shown, f"assumed: {self._assumed}"]

    @property
    def _assumed(self) -> str:
        device = DEVICES[self.cluster.name]
        rate = device.bf16 if self.precision == "bf16-mixed" else device.fp32
        text = f"{rate / TERA:g} TFLOP/s in {self.precision}"
        if device.bf16 != device.fp32 and rate != device.fp32:
            text += f" for training and {device.fp32 / TERA:g} in 32-true for other stages"
        text += f" ({device.source})"
        if device.utilisation < 1:
            text += (
                f", {100 * device.utilisation:.0f} % of it used (large models: 21 to 46 %, "
                "Chowdhery et al. 2022, table 3; small ones use less)"
            )
        text += f", {SECONDS_PER_UPDATE:g} s more an update of pretraining, no communication"
        if self.left_out:
            kinds = ", ".join(f"{number} {kind}" for kind, number in self.left_out.items())
            text += f"; left out: {kinds} stages, without known FLOPs and never run here"
        return text


def _amount(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def cluster_estimate(
    todo: Sequence[Stage], learned: Durations, cluster: Cluster, compute: Compute
) -> ClusterEstimate:
    """The expected duration of stages on a cluster, each on one device, or on `compute.devices`
    (`auto` counts as one) of `compute.num_nodes` if it pretrains.

    Args:
        todo: stages to compute, parents before children.
        learned: durations on this machine, for stages without FLOPs.

    Raises:
        ValueError: the cluster has fewer devices than one run takes.
    """
    devices = (1 if compute.devices == "auto" else compute.devices) * compute.num_nodes
    widths = {one.key: devices for one in todo if uses_devices(one)}
    if widths and devices > cluster.count:
        raise ValueError(
            f"--cluster must have the {devices} devices of a run (compute.devices x num_nodes), "
            f"but is {cluster}; take more, or lower them"
        )
    seconds = {one.key: _seconds(one, learned, cluster, widths.get(one.key, 1)) for one in todo}
    bounds = ideal_makespan(todo, seconds, cluster.count, widths) if todo else {"work": 0.0}
    return ClusterEstimate(
        cluster,
        compute.precision,
        len(todo),
        makespan([], todo, seconds, [0.0] * cluster.count, widths),
        max(bounds.values()),
        bounds["work"] * cluster.count,
        Counter(one.kind for one in todo if not seconds[one.key]),
    )


def _seconds(stage: Stage, learned: Durations, cluster: Cluster, width: int) -> float:
    """Seconds of a stage on `width` devices; 0 if they are not known."""
    if not stage.flops:
        return learned.of(stage) or 0.0
    device = DEVICES[cluster.name]
    rate = device.bf16 if stage.spec.get("precision") == "bf16-mixed" else device.fp32
    return assumed_seconds(stage, width * device.utilisation * rate)
