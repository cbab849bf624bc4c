"""How each kind of objective trains a network: modules from a batch to its losses.

`PARADIGMS` is keyed by what makes the difference; `harness.pretraining.learners.factory` builds
them.
"""
