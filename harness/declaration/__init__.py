"""Experiment file -> Declaration: the experiment and its arms, or every problem with its line."""

from harness.declaration.loading import Declaration, check_data, load, load_experiment, read
from harness.declaration.source import DeclarationError

__all__ = ["Declaration", "DeclarationError", "check_data", "load", "load_experiment", "read"]
