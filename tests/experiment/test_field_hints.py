"""Hints for fields under other tools' names."""

from harness.core.synonyms import SYNONYMS
from harness.experiment.experiment import Experiment
from harness.experiment.field_hints import _paths
from harness.pretraining.recipes.pretrain import Pretrain


def test_other_tools_names_stand_for_existing_fields() -> None:
    fields = {path[-1] for model in (Experiment, Pretrain) for path in _paths(model, ())}
    assert set(SYNONYMS.values()) <= fields
    assert not set(SYNONYMS) & fields
