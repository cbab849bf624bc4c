"""Conformance of every probe: metadata that holds together, and items that it describes."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from harness.tasks.probes import PROBES
from harness.tasks.probes.blimp import PHENOMENA
from harness.tasks.probes.items import fingerprint
from harness.tasks.probes.probe import Probe
from harness.tasks.task import HubData


@pytest.mark.parametrize("name", PROBES)
def test_probe(name: str) -> None:
    probe = PROBES[name]
    assert probe.name == name
    assert probe.chance == 0 if probe.kind == "generation" else 0 < probe.chance <= 0.5
    assert probe.licence and probe.citation
    if isinstance(probe.data, HubData):
        assert probe.data.revision and len(probe.data.revision) == 40
        assert probe.fields and probe.split
    else:
        assert probe.data.generator == name


def test_blimp_has_the_paradigms_of_the_paper() -> None:
    # Warstadt et al. 2020: N, the number of paradigms of each phenomenon
    sizes = tuple(map(len, PHENOMENA.values()))
    assert sizes == (2, 9, 7, 5, 8, 2, 7, 2, 8, 7, 4, 6)
    assert len(PROBES["blimp"].categories) == 67


def test_fingerprints_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_DATA", raising=False)
    assert len({fingerprint(probe) for probe in PROBES.values()}) == len(PROBES)


def test_it_imports_without_the_heavy_libraries() -> None:
    code = (
        "import sys, harness.tasks.probes.items, harness.tasks.probes.accuracy; print(*sys.modules)"
    )
    modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "transformers", "datasets"} & set(modules)


@pytest.mark.parametrize(
    ("categories", "reason"),
    [
        ((), "one or more names"),
        (("a", "a"), "each once"),
        (("a", "overall"), "none 'overall'"),
        (("agreement (hard)",), "letters, digits, spaces"),
    ],
)
def test_categories_name_columns_of_their_own(categories: tuple[str, ...], reason: str) -> None:
    """MLflow takes no parentheses, and a metric of one name twice or of the mean is lost."""
    given = PROBES["blimp"].model_dump() | {"categories": categories}
    with pytest.raises(ValidationError, match=reason):
        Probe.model_validate(given)
