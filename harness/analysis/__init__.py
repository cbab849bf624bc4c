"""Numbers from finished stages: frames of results, averages, statistics, comparisons, power.

Nothing here prints, plots or writes files: tables are in `harness.leaderboard`, figures and pages
in `harness.report`.
"""
