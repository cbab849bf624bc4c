"""Loading and generation of the items of a probe, and their fingerprint."""

from dataclasses import dataclass
from functools import partial

from harness.data import hub, microworld
from harness.data.microworld.random_draws import Draw
from harness.data.microworld.sampler import Sampler
from harness.data.microworld.world import build
from harness.tasks.probes.micro_blimp import GAP, MINIMAL_PAIRS, Contrast, DrawContrast
from harness.tasks.probes.micro_cloze import CLOZE, ENDS, SIDES
from harness.tasks.probes.probe import Probe
from harness.tasks.task import HubData

VERSION = "1"
"""Raised when the items of a micro-world probe change."""
NUM_ITEMS = {"minimal_pairs": 200, "cloze": 200, "generation": 40}
"""Items in each category of a micro-world probe, by kind; a world has 60 beginnings of colours."""

DRAWN: dict[str, dict[str, DrawContrast]] = {
    "minimal_pairs": MINIMAL_PAIRS,
    "cloze": CLOZE | SIDES,
    "generation": ENDS,
}
"""Kind of probe to category to the function that draws its contrasts."""


@dataclass(frozen=True)
class MinimalPair:
    """An acceptable sentence and a minimally different unacceptable one."""

    good: str
    bad: str
    category: str


@dataclass(frozen=True)
class ClozeItem:
    """A sentence with a gap: `before + candidate + after`, spaces included."""

    before: str
    candidates: tuple[str, ...]
    after: str
    answer: int
    """Index of the correct candidate."""
    category: str

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentence with each of the candidates."""
        return tuple(self.before + candidate + self.after for candidate in self.candidates)


@dataclass(frozen=True)
class Beginning:
    """The beginning of a sentence with one right end, which follows without a space."""

    text: str
    end: str
    category: str


Item = MinimalPair | ClozeItem | Beginning


def load_items(probe: Probe, world: int = 0) -> list[Item]:
    """The items of `probe`, category by category.

    Args:
        world: seed of the micro-world of generated items.

    Raises:
        ValueError: the data are missing, or do not match the declaration of the probe.
    """
    load = _read if isinstance(probe.data, HubData) else partial(_make, world=world)
    return [item for category in probe.categories for item in load(probe, category)]


def fingerprint(probe: Probe, world: int = 0) -> str:
    """A string that identifies the items, computed without loading them.

    Args:
        world: as for `load_items`.

    Raises:
        ValueError: `HARNESS_DATA` lacks a mirror of the data.
    """
    data = probe.data
    if isinstance(data, HubData):
        configs = sorted(probe.categories)
        first = f"[:{probe.max_items}]" if probe.max_items else ""
        prints = (hub.fingerprint(data.path, config, data.revision) for config in configs)
        return "+".join(prints) + first
    of_world = f"@{world}" if world else ""
    return f"microworld:{microworld.VERSION}/{data.generator}:{VERSION}{of_world}"


def _read(probe: Probe, category: str) -> list[MinimalPair]:
    """Minimal pairs of a config of a Hub data set."""
    assert isinstance(probe.data, HubData) and probe.fields and probe.split
    dataset = hub.load(probe.data.path, category, probe.split, probe.data.revision)
    if missing := set(probe.fields).difference(dataset.column_names):
        raise ValueError(
            f"{probe.name} needs the columns {' and '.join(probe.fields)}, but its config "
            f"{category} has no {', '.join(sorted(missing))}; it has "
            f"{', '.join(dataset.column_names)}"
        )
    good, bad = (dataset[field][: probe.max_items] for field in probe.fields)
    return [MinimalPair(*pair, category) for pair in zip(good, bad, strict=True)]


def _make(probe: Probe, category: str, world: int) -> list[Item]:
    """NUM_ITEMS different items in random order."""
    functions = DRAWN[probe.kind]
    draw, built = Draw(f"{probe.name} {category} {world}"), build(world)
    sampler = Sampler(draw, built, built.words)
    made: dict[tuple[str, ...], Item] = {}
    while len(made) < NUM_ITEMS[probe.kind]:
        contrast = functions[category](sampler)
        candidates = () if probe.kind == "generation" else sorted(contrast.fillings)
        keys = [(frame, *candidates) for frame in contrast.frames]
        if made.keys().isdisjoint(keys):
            items = _ITEMS[probe.kind](contrast, category, draw)
            made.update(zip(keys, items, strict=True))
    return draw.order(list(made.values()))


def _pairs(contrast: Contrast, category: str, _: Draw) -> list[Item]:
    one, other = contrast.fillings
    orders = ((one, other), (other, one))
    return [
        MinimalPair(frame.replace(GAP, right), frame.replace(GAP, wrong), category)
        for frame, (right, wrong) in zip(contrast.frames, orders, strict=False)
    ]


def _beginnings(contrast: Contrast, category: str, _: Draw) -> list[Item]:
    items: list[Item] = []
    for frame, right in zip(contrast.frames, contrast.fillings, strict=True):
        before, after = frame.split(GAP)
        items.append(Beginning(before.rstrip(), f" {right}{after}", category))
    return items


def _gaps(contrast: Contrast, category: str, draw: Draw) -> list[Item]:
    items: list[Item] = []
    for frame, right in zip(contrast.frames, contrast.fillings, strict=True):
        candidates = tuple(draw.order(contrast.fillings))
        before, after = frame.split(GAP)
        items.append(ClozeItem(before, candidates, after, candidates.index(right), category))
    return items


_ITEMS = {"minimal_pairs": _pairs, "cloze": _gaps, "generation": _beginnings}
"""Kind of probe to the function that makes the items of a contrast."""
