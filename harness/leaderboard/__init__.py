"""Leaderboards: tables of measured, imported and published scores, as markdown, csv, html and
latex.

Averaging rules and statistics are in `harness.analysis`, reports in `harness.report`.
"""
