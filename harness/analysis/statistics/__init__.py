"""Statistics as pure functions of arrays. Random functions take a Generator.

Functions are imported from their files, because some load scipy.stats, which takes a second.
"""
