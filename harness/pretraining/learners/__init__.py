"""Learners: a network with its pretraining heads, from a batch to its losses.

`factory.LEARNERS` maps names to learners, and `factory.make_learner` builds the one of a run.
Batches are made in `harness.pretraining.objectives`, networks in `harness.models`.
"""
