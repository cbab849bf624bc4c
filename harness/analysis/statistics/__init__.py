"""Arrays in, numbers out; no files, no plots. Whatever draws takes a Generator.

What is not named here is imported by its file, as some load scipy.stats, which takes a second.
"""
