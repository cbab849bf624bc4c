"""From a declared experiment to a plan: stages with content keys, their cost, and the check that
arms differ only in the fields that axes vary.

Not here: how a stage is computed (`harness.execution`), and its results (`harness.store`). Planning
imports no torch.
"""
