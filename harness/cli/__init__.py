"""The commands: they parse, call, print and decide nothing. A command imports what it needs when it
is called, so that `harness --help` answers at once.
"""
