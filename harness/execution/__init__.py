"""Computes the stages of a plan: the stage functions, the worker that runs one, the backends that
run several, and the executor that schedules and records them.

What an experiment compares is declared in `harness.experiment` and planned in `harness.plan`;
results are kept in `harness.store`.
"""
