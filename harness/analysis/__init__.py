"""From finished stages to numbers: frames of results, statistics, comparisons of arms, power.
Nothing here prints, plots or writes files.
"""
