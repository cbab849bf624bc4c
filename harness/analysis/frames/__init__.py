"""Frames of an experiment's results: functions of `harness.analysis.results.Results`."""
