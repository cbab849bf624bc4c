"""What the results on probes are called where they are compared."""

from collections.abc import Iterable

from harness.tasks.probes import PROBES
from harness.tasks.probes.probe import OVERALL
from harness.tasks.task import Column

METRIC = "accuracy"


def probe_columns(probes: Iterable[str]) -> dict[str, Column]:
    """Name to column: of each probe the mean over its categories (`blimp`), and each category
    (`blimp/wh_island`).

    Args:
        probes: names in PROBES.
    """
    parts = {
        name: {name: OVERALL} | {f"{name}/{one}": one for one in PROBES[name].categories}
        for name in probes
    }
    return {
        column: Column(name=column, task=probe, split=split, metrics=(METRIC,))
        for probe, columns in parts.items()
        for column, split in columns.items()
    }
