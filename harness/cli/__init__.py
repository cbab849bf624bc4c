"""The `harness` command: one file per subcommand, which parses arguments, calls the
library and prints.

Computation is not here but in the rooms below; `harness.study` is the same interface in Python.
Subcommands import what they need when called, so that `harness --help` is fast.
"""
