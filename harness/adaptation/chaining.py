"""Tasks that are learned before a task, or together with it, declared."""

from harness.values import Value


class Intermediate(Value):
    """A task that a model is trained on whole before it meets the others (Phang et al. 2018)."""


class Multitask(Value):
    """One model for all chosen tasks, with a head for each."""
