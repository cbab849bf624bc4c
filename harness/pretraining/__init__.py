"""Pretraining of every paradigm: a Lightning module, checkpoint and resume.

Everything random is a function of (seed, step), so a run that is cut short goes on from its last
checkpoint, on a CPU bit for bit; a GPU's own kernels may add up in another order.
"""
