"""The store of results, in MLflow: a stage is a run tagged with its key; FINISHED means done.

Also the experiments that were run and the results imported from elsewhere. What a stage computes is
in `harness.execution`, tables of results are in `harness.analysis.frames`, and files that leave or
enter a store in `harness.exchange`.
"""
