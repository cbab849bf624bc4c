"""Foundations that know nothing of language models: declared values, compute settings, safe files.

Imports no other room. The schema of an experiment file is in `harness.experiment`; the files of
finished runs are in `harness.store`.
"""
