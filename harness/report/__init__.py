"""The comparison report of an experiment: an html page, the same as markdown, and csv files.

`outline.py` lists the sections, `sections/` has one function for each, and `figures/` draws them.
`disagreements/` shows examples on which two arms differ, and `site/` builds the site of a store.
Numbers are computed in `harness.analysis`, leaderboards in `harness.leaderboard`.
"""
