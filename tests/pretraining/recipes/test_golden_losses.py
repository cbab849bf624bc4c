"""The first losses of every recipe are those that were committed."""

import json
from pathlib import Path

import pytest

from harness.pretraining.recipes import RECIPES
from tests.pretraining.recipes.golden import FILE, TRAINED, UPDATES, losses, prepare

GOLDEN = json.loads(FILE.read_text())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    prepare(folder)
    return folder


def test_every_recipe_has_golden_losses() -> None:
    assert GOLDEN.keys() == set(TRAINED)
    learning = [name for name in TRAINED if RECIPES[name].model.facts.kind != "baseline"]
    assert all(len(GOLDEN[name]) == UPDATES for name in learning)


@pytest.mark.parametrize("recipe", TRAINED)
def test_losses_are_reproduced(recipe: str, data: Path, tmp_path: Path) -> None:
    """To four digits: processors add up in different orders."""
    assert losses(recipe, data, tmp_path / "run") == pytest.approx(GOLDEN[recipe], rel=1e-4)
