"""The data sets of the Hub that tasks, probes and corpora read: list, fetch, verify."""
