"""Checks of a declared experiment beyond the types of its fields: of the grid, of single arms, and
of all arms. Each yields (keys, message) for every problem. Checks of data files are in
`harness.experiment.data_checks`.
"""
