"""AXIS: zero-shot probes of pretrained models: minimal pairs, cloze sentences and beginnings of
sentences.

How a model scores their sentences is in `harness.pretraining.scoring`.
"""

from harness.tasks.probes.blimp import BLIMP, BLIMP_200
from harness.tasks.probes.micro_blimp import MICRO_BLIMP
from harness.tasks.probes.micro_cloze import MICRO_CLOZE, MICRO_CLOZE_SIDES, MICRO_GENERATION
from harness.tasks.probes.probe import Probe

_ALL = (MICRO_BLIMP, MICRO_CLOZE, MICRO_CLOZE_SIDES, MICRO_GENERATION, BLIMP, BLIMP_200)
PROBES: dict[str, Probe] = {probe.name: probe for probe in _ALL}
