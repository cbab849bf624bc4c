"""AXIS: what pretrained models are probed with, without fine-tuning: minimal pairs and cloze."""

from harness.tasks.probes.blimp import BLIMP, BLIMP_200
from harness.tasks.probes.micro_blimp import MICRO_BLIMP
from harness.tasks.probes.micro_cloze import MICRO_CLOZE
from harness.tasks.probes.probe import Probe

PROBES: dict[str, Probe] = {
    probe.name: probe for probe in (MICRO_BLIMP, MICRO_CLOZE, BLIMP, BLIMP_200)
}
