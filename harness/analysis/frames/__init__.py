"""Data frames of an experiment's results: functions for `harness.analysis.results.Results.get`."""
